/**
 * An API that knows only the dialect of HyperFleet APIs in the field: page, size, search, order and fields, no `labels=`,
 * no watch, conditions `Reconciled`, statuses by PUT. Rules: anchors/hyperfleet-api 1.4 to 1.11. That API has no
 * `POST /events`; this one takes them as the event gateway that stands beside it would.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '#operator/model/clock.ts'

export interface PeerResource {
  readonly id: string
  kind: string
  href: string
  name: string
  generation: number
  labels: Record<string, string>
  spec: object
  created_time: string
  updated_time: string
  deleted_time?: string
  status: { conditions: PeerCondition[] }
}

interface PeerCondition {
  type: string
  status: 'True' | 'False'
  observed_generation: number
  last_updated_time: string
  last_transition_time: string
  created_time: string
}

export interface TakenEvent {
  readonly resourceType: string
  readonly resourceId: string
  readonly reason: string
  readonly traceparent: string | undefined
  /** When it was taken, in milliseconds since the epoch of the clock. */
  readonly at: number
}

/** Answers instead of the API; undefined lets the API answer. */
export type Fault = (request: {
  readonly method: string
  readonly url: URL
  readonly body: unknown
}) => Promise<Answer | undefined> | Answer | undefined

export interface Answer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

export interface PeerDialect {
  readonly url: string
  /** Every request so far, as `METHOD path?query`. */
  readonly requests: string[]
  readonly events: TakenEvent[]
  /** Asked before every answer; set it to break things. */
  fault: Fault
  create(
    resourceType: string,
    resource: { id: string; labels?: Record<string, string>; adapters?: boolean },
  ): PeerResource
  /** A spec change. */
  patch(id: string): void
  /** As an adapter's PUT of its status does. */
  report(id: string, available: boolean): void
  /** Marks for deletion. */
  delete(id: string): void
  /** Removes the record. */
  remove(id: string): void
  get(id: string): PeerResource
  stop(): Promise<void>
}

const BASE = '/api/hyperfleet/v1/'

export interface PeerOptions {
  readonly clock: Clock
  readonly resourceTypes?: readonly string[]
  /** Without it `search` is ignored, as by APIs that are older still. */
  readonly search?: boolean
}

export const startPeerDialect = async (options: PeerOptions): Promise<PeerDialect> => {
  const { clock, resourceTypes = ['clusters', 'nodepools'], search = true } = options
  const tables = new Map(resourceTypes.map((type) => [type, new Map<string, PeerResource>()]))
  const requests: string[] = []
  const events: TakenEvent[] = []
  const now = () => clock.now().toISOString()

  const find = (id: string): PeerResource => {
    for (const table of tables.values()) {
      const found = table.get(id)
      if (found !== undefined) return found
    }
    throw new Error(`no resource ${id}`)
  }

  const changed = (resource: PeerResource): void => {
    resource.generation += 1
    resource.updated_time = now()
    judge(resource, false, now())
  }

  const peer: PeerDialect = {
    url: '',
    requests,
    events,
    fault: () => undefined,
    create(resourceType, { id, labels = {}, adapters = true }) {
      const resource: PeerResource = {
        id,
        kind: 'Cluster',
        name: id,
        href: `${BASE}${resourceType}/${id}`,
        generation: 1,
        labels,
        spec: {},
        created_time: now(),
        updated_time: now(),
        status: { conditions: [] },
      }
      if (adapters) judge(resource, false, now())
      tables.get(resourceType)?.set(id, resource)
      return resource
    },
    patch: (id) => changed(find(id)),
    report: (id, available) => judge(find(id), available, now()),
    delete(id) {
      const resource = find(id)
      resource.deleted_time = now()
      changed(resource)
    },
    remove(id) {
      for (const table of tables.values()) table.delete(id)
    },
    get: find,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  const answer = (method: string, url: URL, body: unknown, traceparent: string | undefined): Answer => {
    const [plural = '', id, part] = url.pathname.slice(BASE.length).split('/')
    if (method === 'POST' && plural === 'events') {
      const event = body as { resourceType: string; resourceId: string; reason: string }
      if (!tables.get(event.resourceType)?.has(event.resourceId)) return problem(404, 'no such resource')
      events.push({ ...event, traceparent, at: clock.now().getTime() })
      return { status: 201, body: event }
    }
    const table = tables.get(plural)
    if (table === undefined) return problem(404, 'Endpoint Not Found')
    if (method === 'PUT' && id !== undefined && part === 'statuses') {
      const { conditions } = body as { conditions: { type: string; status: string }[] }
      peer.report(
        id,
        conditions.some(({ type, status }) => type === 'Available' && status === 'True'),
      )
      return { status: 201, body }
    }
    return list([...table.values()], url.searchParams, search)
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://peer')
    const { method = 'GET' } = request
    requests.push(`${method} ${decodeURIComponent(url.pathname + url.search)}`)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())
    const { traceparent } = request.headers
    const {
      status,
      headers,
      body: sent,
    } = (await peer.fault({ method, url, body })) ?? answer(method, url, body, traceparent?.toString())
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof sent === 'string' ? sent : JSON.stringify(sent ?? {}))
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      response.writeHead(500)
      response.end(String(error))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(peer, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

/** Writes `Reconciled` as the API does: its time moves with reports and with updates. */
const judge = (resource: PeerResource, available: boolean, now: string): void => {
  const before = resource.status.conditions.find(({ type }) => type === 'Reconciled')
  const status = available && resource.deleted_time === undefined ? 'True' : 'False'
  resource.status.conditions = [
    {
      type: 'Reconciled',
      status,
      observed_generation: resource.generation,
      last_updated_time: now,
      last_transition_time: before?.status === status ? before.last_transition_time : now,
      created_time: before?.created_time ?? now,
    },
  ]
}

const problem = (status: number, detail: string): Answer => ({
  status,
  headers: { 'content-type': 'application/problem+json' },
  body: { title: detail, detail, status },
})

/** Keys that `fields` knows; anything else is a 400. */
const FIELDS =
  /^(id|kind|name|href|generation|labels|spec|created_time|updated_time|deleted_time|status\.conditions(\.[a-z_]+)?)$/

const list = (all: readonly PeerResource[], query: URLSearchParams, searches: boolean): Answer => {
  const page = Number(query.get('page') ?? 1)
  const size = Number(query.get('size') ?? 20)
  if (!(page >= 1 && size >= 1 && size <= 100)) return problem(400, 'Invalid query parameters')
  const fields = query.get('fields')?.split(',')
  if (fields?.some((field) => !FIELDS.test(field))) return problem(400, 'invalid field')
  const search = searches ? query.get('search') : null
  let matching: readonly PeerResource[]
  try {
    matching = search === null ? all : all.filter((resource) => satisfies(resource, search))
  } catch (error) {
    return problem(400, String(error))
  }
  const ordered = matching.toSorted(
    query.get('order') === 'id asc'
      ? (a, b) => (a.id < b.id ? -1 : 1)
      : (a, b) => (a.created_time > b.created_time ? -1 : 1),
  )
  const items = ordered.slice((page - 1) * size, page * size)
  return {
    status: 200,
    body: {
      items: fields === undefined ? items : items.length === 0 ? null : items.map((item) => pick(item, fields)),
      page,
      size: items.length,
      total: matching.length,
    },
  }
}

const pick = (resource: PeerResource, fields: readonly string[]): object =>
  Object.fromEntries(
    Object.entries(resource).filter(([key]) => key === 'id' || fields.some((field) => field.split('.')[0] === key)),
  )

/** Terms joined by `and`: the part of the search language that clients use. @throws for anything else */
const satisfies = (resource: PeerResource, search: string): boolean =>
  search.split(' and ').every((term) => {
    const [, field = '', operator = '', right = ''] =
      /^([A-Za-z0-9_.]+)\s*(<=|>=|!=|=|<|>| in )\s*(.+)$/.exec(term) ?? []
    if (operator === '') throw new Error(`cannot search ${term}`)
    const left = fieldOf(resource, field)
    if (left === undefined) return false
    const values = right
      .replace(/^\[|\]$/g, '')
      .split(',')
      .map((value) => value.trim().replace(/^'|'$/g, ''))
    return compare(left, operator.trim(), values)
  })

const compare = (left: string, operator: string, [right = '', ...more]: readonly string[]): boolean => {
  switch (operator) {
    case '=':
      return left === right
    case '!=':
      return left !== right
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    case '>=':
      return left >= right
    default:
      return [right, ...more].includes(left)
  }
}

const fieldOf = (resource: PeerResource, field: string): string | undefined => {
  if (field.startsWith('labels.')) return resource.labels[field.slice('labels.'.length)]
  if (field.startsWith('status.conditions.')) {
    const [, , type, part] = field.split('.')
    const condition = resource.status.conditions.find((candidate) => candidate.type === type)
    if (part === undefined) return condition?.status
    return part === 'last_updated_time' ? condition?.last_updated_time : undefined
  }
  const value = (resource as unknown as Record<string, unknown>)[field]
  if (typeof value !== 'string') throw new Error(`unknown field ${field}`)
  return value
}
