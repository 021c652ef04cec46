/** HTTP client of the HyperFleet API: as much of it as controllers need, and nothing that trusts its answers. */
import { readFile } from 'node:fs/promises'
import { createParser } from 'eventsource-parser'
import { Agent, type Dispatcher } from 'undici'
import { type Clock, timeLimit } from '#operator/model/clock.ts'
import { Failure, reasonOfStatus } from './failure.ts'

/** One page of a list. */
export interface ResourcePage {
  /** Not judged yet: any of them may be malformed. */
  readonly items: readonly unknown[]
  /** How many match in all, where the API says. */
  readonly total: number | undefined
  /** What the API can do beyond the common dialect: `Muster-Features`. */
  readonly features: ReadonlySet<string>
}

/** One message of a watch stream: added, modified, deleted, bookmark or end. `object` is not judged yet. */
export interface WatchMessage {
  readonly type: string
  /** A watch from here misses nothing after this message; undefined where none can begin. */
  readonly resourceVersion: string | undefined
  readonly object: unknown
}

/** A pulse as the API takes it (seed: sentinel, Event Creator). */
export interface PulseEvent {
  readonly resourceType: string
  readonly resourceId: string
  readonly reason: string
  /** Who asks; only for an API that knows it. */
  readonly source?: string
}

export type Query = Readonly<Record<string, string | undefined>>

/** A resource as its maker writes it. */
export interface ResourceDraft {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly spec: Readonly<Record<string, unknown>>
}

export type ResourceChange = Partial<Omit<ResourceDraft, 'name'>>

/** Every method throws Failure, or the signal's reason once that aborted. */
export interface HyperFleet {
  list(resourceType: string, query: Query, signal: AbortSignal): Promise<ResourcePage>
  /** Ends when the API ends it. */
  watch(resourceType: string, query: Query, signal: AbortSignal): AsyncIterable<WatchMessage>
  createEvent(event: PulseEvent, traceparent: string, signal: AbortSignal): Promise<void>
  /** Undefined when there is none. Not judged. */
  get(resourceType: string, id: string, signal: AbortSignal): Promise<unknown>
  /** The new resource, not judged. */
  create(resourceType: string, draft: ResourceDraft, signal: AbortSignal): Promise<unknown>
  /** What is given replaces what is there. The resource as it is then, not judged. */
  patch(resourceType: string, id: string, change: ResourceChange, signal: AbortSignal): Promise<unknown>
  /** Asks for the deletion. Undefined when there is none. The resource as it was marked, not judged. */
  remove(resourceType: string, id: string, signal: AbortSignal): Promise<unknown>
  /** Resolves when what is under way has ended: each request by its signal or timeout. */
  close(): Promise<void>
}

export interface HyperFleetOptions {
  /** With or without a trailing slash. */
  readonly url: string
  /** Of one whole request, in milliseconds. */
  readonly timeout: number
  readonly userAgent: string
  /** A file with a bearer token, read for every request: tokens are rotated under us. */
  readonly tokenFile?: string | undefined
  readonly clock: Clock
}

const BASE = '/api/hyperfleet/v1'
/** No honest page of 100 resources is larger. */
const LARGEST_ANSWER = 16 * 1024 * 1024
/** A watch without a bookmark for so long is dead. */
const WATCH_SILENCE = 60_000

export const createHyperFleet = ({ url, timeout, userAgent, tokenFile, clock }: HyperFleetOptions): HyperFleet => {
  const base = new URL(url)
  const root = `${base.pathname.replace(/\/+$/, '')}${BASE}`
  const agent = new Agent({ connections: 16, connect: { timeout }, allowH2: false })

  const ask = async (request: Asked, limits: Limits): Promise<Dispatcher.ResponseData> => {
    const headers: Record<string, string> = { accept: request.accept, 'user-agent': userAgent, ...request.headers }
    if (tokenFile !== undefined) headers.authorization = `Bearer ${await tokenOf(tokenFile)}`
    const answer = await agent.request({
      origin: base.origin,
      path: root + request.path,
      method: request.method,
      headers,
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      ...limits,
    })
    if (answer.statusCode < 300) return answer
    const text = await boundedText(answer).catch(() => '')
    const detail =
      answer.statusCode < 400 ? ': redirects are not followed, write the URL that it leads to' : detailOf(text)
    throw new Failure(reasonOfStatus(answer.statusCode), `${answer.statusCode}${detail}`, {
      status: answer.statusCode,
      retryAfter: retryAfterOf(answer.headers['retry-after'], clock),
    })
  }

  /** Runs a request within its limits and says in every error which request it was. */
  const within = async <T>(request: Asked, signal: AbortSignal, run: () => Promise<T>): Promise<T> => {
    try {
      return await run()
    } catch (error) {
      signal.throwIfAborted()
      throw explained(error, `${request.method} ${base.origin}${root}${request.path}`, timeout)
    }
  }

  const exchange = <T>(request: Asked, signal: AbortSignal, read: (answer: Dispatcher.ResponseData) => Promise<T>) =>
    within(request, signal, async () => {
      signal.throwIfAborted()
      return read(await ask(request, { signal: AbortSignal.any([signal, timeLimit(timeout)]) }))
    })

  return {
    list: (resourceType, query, signal) => {
      const path = `/${encodeURIComponent(resourceType)}${queryText(query)}`
      return exchange({ method: 'GET', path, accept: 'application/json' }, signal, async (answer) => {
        const body = JSON.parse(await boundedText(answer))
        // With `fields` and no match, HyperFleet APIs in the field answer null instead of an empty list.
        const items = Array.isArray(body) ? body : (body?.items ?? (body?.total === 0 ? [] : undefined))
        if (!Array.isArray(items)) throw new Failure('APIMalformed', 'the answer holds no list "items"')
        return {
          items,
          total: typeof body.total === 'number' ? body.total : undefined,
          features: featuresOf(answer),
        }
      })
    },

    async *watch(resourceType, query, signal) {
      const path = `/${encodeURIComponent(resourceType)}${queryText({ ...query, watch: 'true' })}`
      const request: Asked = { method: 'GET', path, accept: 'text/event-stream' }
      const answer = await within(request, signal, () =>
        ask(request, { signal, headersTimeout: timeout, bodyTimeout: WATCH_SILENCE }),
      )
      const messages: WatchMessage[] = []
      const parser = createParser({
        maxBufferSize: LARGEST_ANSWER,
        onEvent: ({ event, data, id }) =>
          messages.push({ type: event ?? 'message', resourceVersion: id, object: parse(data) }),
        onError: (error) => {
          if (error.type === 'max-buffer-size-exceeded') throw error
        },
      })
      const text = new TextDecoder()
      // A reader that leaves early destroys the body, which then emits an abort error that is nobody's concern.
      answer.body.on('error', () => {})
      try {
        for await (const chunk of answer.body) {
          parser.feed(text.decode(chunk as Buffer, { stream: true }))
          yield* messages.splice(0)
        }
      } catch (error) {
        signal.throwIfAborted()
        throw explained(error, `GET ${base.origin}${root}${path}`, WATCH_SILENCE)
      } finally {
        answer.body.destroy()
      }
    },

    createEvent: (event, traceparent, signal) => {
      const headers = { 'content-type': 'application/json', traceparent }
      const request: Asked = { method: 'POST', path: '/events', accept: 'application/json', headers, body: event }
      return exchange(request, signal, (answer) => answer.body.dump())
    },

    get: (resourceType, id, signal) =>
      unlessMissing(
        exchange({ method: 'GET', path: itemPath(resourceType, id), accept: 'application/json' }, signal, jsonOf),
      ),

    create: (resourceType, draft, signal) =>
      exchange(writing('POST', `/${encodeURIComponent(resourceType)}`, draft), signal, jsonOf),

    patch: (resourceType, id, change, signal) =>
      exchange(writing('PATCH', itemPath(resourceType, id), change), signal, jsonOf),

    remove: (resourceType, id, signal) =>
      unlessMissing(exchange(writing('DELETE', itemPath(resourceType, id)), signal, jsonOf)),

    close: () => agent.close(),
  }
}

interface Asked {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly accept: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Undefined where the API has none. */
const unlessMissing = async (answer: Promise<unknown>): Promise<unknown> => {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return undefined
    throw error
  }
}

/** A request that changes something. */
const writing = (method: Asked['method'], path: string, body?: unknown): Asked => ({
  method,
  path,
  accept: 'application/json',
  ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body }),
})

const itemPath = (resourceType: string, id: string): string =>
  `/${encodeURIComponent(resourceType)}/${encodeURIComponent(id)}`

const jsonOf = async (answer: Dispatcher.ResponseData): Promise<unknown> => JSON.parse(await boundedText(answer))

type Limits = Pick<Dispatcher.RequestOptions, 'signal' | 'headersTimeout' | 'bodyTimeout'>

const queryText = (query: Query): string => {
  const given = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, value)
  return given.size === 0 ? '' : `?${given.toString()}`
}

/** Decoded as it comes: joining the bytes first would take twice the memory, page after page. */
const boundedText = async ({ body }: Dispatcher.ResponseData): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body as AsyncIterable<Buffer>) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > LARGEST_ANSWER)
      throw new Failure('APIMalformed', `the answer is larger than ${LARGEST_ANSWER} bytes`)
  }
  return text + decoder.decode()
}

const featuresOf = ({ headers }: Dispatcher.ResponseData): ReadonlySet<string> =>
  new Set(
    String(headers['muster-features'] ?? '')
      .split(',')
      .map((feature) => feature.trim()),
  )

/** Undefined for what is no JSON: it is judged with the items. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const tokenOf = async (file: string): Promise<string> => {
  const token = (await readFile(file, 'utf8')).trim()
  if (token === '') throw new Failure('APIRefused', `the token file ${file} is empty`)
  return token
}

/** The sentence of a problem document (RFC 9457), else the first line of the body. */
const detailOf = (text: string): string => {
  const problem = parse(text) as { detail?: unknown; title?: unknown } | null | undefined
  const said = problem?.detail ?? problem?.title ?? text.split('\n')[0]
  return typeof said === 'string' && said !== '' ? `: ${said.slice(0, 300)}` : ''
}

/**
 * Milliseconds of a Retry-After header: seconds or an HTTP date (RFC 9110). Undefined as well for a moment that has come,
 * maybe only by our clock: an API that refuses is not asked again without any rest.
 */
const retryAfterOf = (header: string | string[] | undefined, clock: Clock): number | undefined => {
  if (header === undefined) return undefined
  const text = String(header)
  const rest = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - clock.now().getTime()
  return rest > 0 ? rest : undefined
}

/** The same failure with the request in its sentence; anything that is no answer counts as unreachable. */
const explained = (error: unknown, request: string, timeout: number): Failure => {
  if (error instanceof Failure) {
    const { reason, status, retryAfter } = error
    return new Failure(reason, `${request}: ${error.message}`, { ...(status && { status }), retryAfter, cause: error })
  }
  if (error instanceof SyntaxError)
    return new Failure('APIMalformed', `${request}: no JSON: ${error.message}`, { cause: error })
  const name = error instanceof Error ? error.name : ''
  const code = (error as { code?: string }).code ?? ''
  const said = /Timeout/.test(name) || /TIMEOUT/.test(code) ? `no answer within ${timeout / 1_000} s` : messageOf(error)
  return new Failure('APIUnreachable', `${request}: ${said}`, { cause: error })
}

const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
