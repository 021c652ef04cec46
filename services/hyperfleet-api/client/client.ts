/** HTTP client of the HyperFleet API: as much of it as controllers need, and nothing that trusts its answers. */
import { createParser } from 'eventsource-parser'
import { HyperFleetError } from './error.ts'
import {
  createHttp,
  type HttpOptions,
  type HttpRequest,
  type HttpResponse,
  MAX_RESPONSE_BYTES,
  parseJson,
  readJson,
  readText,
} from './http.ts'
import { listInParts } from './list-in-parts.ts'
import type { Query, ResourcePage } from './page.ts'

export type { Query, ResourcePage }

/** One message of a watch stream: added, modified, deleted, bookmark or end. `object` is not checked yet. */
export interface WatchMessage {
  readonly type: string
  /** A watch from here misses nothing after this message; undefined where none can begin. */
  readonly resourceVersion: string | undefined
  readonly object: unknown
}

/** A pulse as the API takes it (SENTINEL-13). */
export interface PulseEvent {
  readonly resourceType: string
  readonly resourceId: string
  readonly reason: string
  /** The caller's name; only for an API that knows it. */
  readonly source?: string
  /** When the next pulse is meant to come, RFC 3339; only for an API that knows it. */
  readonly nextTime?: string
}

/** A resource as its maker writes it. */
export interface ResourceDraft {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly spec: Readonly<Record<string, unknown>>
}

export type ResourceChange = Partial<Omit<ResourceDraft, 'name'>>

/** Every method throws HyperFleetError, or the signal's reason once that aborted. */
export interface HyperFleetClient {
  list(resourceType: string, query: Query, signal: AbortSignal): Promise<ResourcePage>
  /** Ends when the API ends it. */
  watch(resourceType: string, query: Query, signal: AbortSignal): AsyncIterable<WatchMessage>
  createEvent(event: PulseEvent, traceparent: string, signal: AbortSignal): Promise<void>
  /** Undefined when there is none. Not checked. */
  get(resourceType: string, id: string, signal: AbortSignal): Promise<unknown>
  /** How a resource went that is gone, as the archive has it; undefined when it has nothing of it. Not checked. */
  getArchived(resourceType: string, id: string, signal: AbortSignal): Promise<unknown>
  /** The new resource, not checked. */
  create(resourceType: string, draft: ResourceDraft, signal: AbortSignal): Promise<unknown>
  /** What is given replaces what is there. The resource as it is then, not checked. */
  patch(resourceType: string, id: string, change: ResourceChange, signal: AbortSignal): Promise<unknown>
  /** Asks for the deletion. Undefined when there is none. The resource as it was marked, not checked. */
  remove(resourceType: string, id: string, signal: AbortSignal): Promise<unknown>
  /** Resolves when what is under way has ended: each request by its signal or timeout. */
  close(): Promise<void>
}

export type HyperFleetClientOptions = HttpOptions

/** A watch without a bookmark for so long is dead. */
const WATCH_SILENCE_TIMEOUT_MS = 60_000

export const createHyperFleetClient = (options: HyperFleetClientOptions): HyperFleetClient => {
  const http = createHttp(options)
  return {
    list: (resourceType, query, signal) =>
      listInParts(query, (part) => {
        const path = `${collectionPath(resourceType)}${formatQuery(part)}`
        return http.exchange({ method: 'GET', path, accept: 'application/json' }, signal, async (response) => {
          const body = JSON.parse(await readText(response))
          // With `fields` and no match, HyperFleet APIs in the field answer null instead of an empty list.
          const items = Array.isArray(body) ? body : (body?.items ?? (body?.total === 0 ? [] : undefined))
          if (!Array.isArray(items)) throw new HyperFleetError('APIMalformed', 'the answer holds no list "items"')
          return {
            items,
            total: typeof body.total === 'number' ? body.total : undefined,
            features: readFeatures(response),
          }
        })
      }),

    async *watch(resourceType, query, signal) {
      const path = `${collectionPath(resourceType)}${formatQuery({ ...query, watch: 'true' })}`
      const request: HttpRequest = { method: 'GET', path, accept: 'text/event-stream' }
      const response = await http.open(request, signal, WATCH_SILENCE_TIMEOUT_MS)
      const messages: WatchMessage[] = []
      const parser = createParser({
        maxBufferSize: MAX_RESPONSE_BYTES,
        onEvent: ({ event, data, id }) =>
          messages.push({ type: event ?? 'message', resourceVersion: id, object: parseJson(data) }),
        onError: (error) => {
          if (error.type === 'max-buffer-size-exceeded') throw error
        },
      })
      const decoder = new TextDecoder()
      // A reader that leaves early destroys the body, which then emits an abort error that can be ignored.
      response.body.on('error', () => {})
      try {
        for await (const chunk of response.body) {
          parser.feed(decoder.decode(chunk as Buffer, { stream: true }))
          yield* messages.splice(0)
        }
      } catch (error) {
        signal.throwIfAborted()
        throw http.describeError(error, request, WATCH_SILENCE_TIMEOUT_MS)
      } finally {
        response.body.destroy()
      }
    },

    createEvent: (event, traceparent, signal) => {
      const { headers, ...request } = writeRequest('POST', '/events', event)
      return http.exchange({ ...request, headers: { ...headers, traceparent } }, signal, async (response) => {
        await readText(response)
      })
    },

    get: (resourceType, id, signal) =>
      undefinedIfNotFound(
        http.exchange(
          { method: 'GET', path: itemPath(resourceType, id), accept: 'application/json' },
          signal,
          readJson,
        ),
      ),

    getArchived: async (resourceType, id, signal) => {
      const path = `/archive${collectionPath(resourceType)}${formatQuery({ id })}`
      const page = await undefinedIfNotFound(
        http.exchange({ method: 'GET', path, accept: 'application/json' }, signal, readJson),
      )
      const { items } = (page ?? {}) as { readonly items?: unknown }
      return Array.isArray(items) ? items[0] : undefined
    },

    create: (resourceType, draft, signal) =>
      http.exchange(writeRequest('POST', collectionPath(resourceType), draft), signal, readJson),

    patch: (resourceType, id, change, signal) =>
      http.exchange(writeRequest('PATCH', itemPath(resourceType, id), change), signal, readJson),

    remove: (resourceType, id, signal) =>
      undefinedIfNotFound(http.exchange(writeRequest('DELETE', itemPath(resourceType, id)), signal, readJson)),

    close: http.close,
  }
}

/** Undefined where the API has no such resource. */
const undefinedIfNotFound = async (answer: Promise<unknown>): Promise<unknown> => {
  try {
    return await answer
  } catch (error) {
    if (error instanceof HyperFleetError && error.status === 404) return undefined
    throw error
  }
}

/** A request that changes something. */
const writeRequest = (method: HttpRequest['method'], path: string, body?: unknown): HttpRequest => ({
  method,
  path,
  accept: 'application/json',
  ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body }),
})

const collectionPath = (resourceType: string): string => `/${encodeURIComponent(resourceType)}`

const itemPath = (resourceType: string, id: string): string =>
  `${collectionPath(resourceType)}/${encodeURIComponent(id)}`

const formatQuery = (query: Query): string => {
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, value)
  return parameters.size === 0 ? '' : `?${parameters.toString()}`
}

/** What the API can do beyond the common dialect. */
const readFeatures = ({ headers }: HttpResponse): ReadonlySet<string> =>
  new Set(
    String(headers['muster-features'] ?? '')
      .split(',')
      .map((feature) => feature.trim()),
  )
