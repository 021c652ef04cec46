/** Our real HyperFleet API, with a front that notes every pulse and can be told to refuse, delay or cut requests. */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { vi } from 'vitest'
import type { Clock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import type { EntityConfig } from '#services/hyperfleet-api/model/entity-config.ts'
import { start } from '#services/hyperfleet-api/start.ts'
import { PATIENCE } from './world.ts'

export interface Pulse {
  readonly id: string
  readonly reason: string
  readonly source: string | undefined
  readonly traceparent: string | undefined
  /** When the next one is meant to come. */
  readonly nextTime: string | undefined
  /** When it came, by the clock of the API. */
  readonly at: Date
}

/** What the front does with a request; undefined lets it through. */
export type Fault = (request: {
  readonly method: string
  readonly path: string
  readonly body: string
}) => { readonly status: number; readonly retryAfter?: string } | 'hang' | 'cut' | undefined

export interface HyperFleetApi extends AsyncDisposable {
  /** Of the front. */
  readonly url: string
  /** Pulses that the API took, in order. */
  readonly pulses: Pulse[]
  /** All requests, as `METHOD path?query`. */
  readonly requests: string[]
  fault: Fault
  /** Set it to hide what this API can do beyond the common dialect. */
  plain: boolean
  /** Cuts every watch stream that is open. */
  cutStreams(): void
  /** Creates a resource and gives its id. */
  create(name: string, labels?: Record<string, string>, plural?: string): Promise<string>
  /** Creates a Version of a Channel. */
  createIn(channel: string, name: string): Promise<void>
  /** Changes its spec. */
  patch(id: string): Promise<void>
  /** Changes its labels, which is also a change of its generation. */
  relabel(id: string, labels: Record<string, string>): Promise<void>
  delete(id: string): Promise<void>
  /** An adapter's report at the current generation. */
  report(id: string, available: 'True' | 'False'): Promise<void>
  /** What the API says about its pulses. */
  explainedPulses(id: string): Promise<{ readonly last?: object; readonly next?: { readonly time: string } }>
  /** Pulses as `name reason`, sorted. */
  told(): string[]
  /** Resolves when exactly these pulses have come since the last call; forgets them. */
  expect(...pulses: readonly string[]): Promise<void>
}

const BASE = '/api/hyperfleet/v1'

export const startHyperFleet = async (clock: Clock, entities?: readonly EntityConfig[]): Promise<HyperFleetApi> => {
  const real = await start({ listen: { host: '127.0.0.1', port: 0 }, clock, log: silent, entities })
  const names = new Map<string, string>()
  const plurals = new Map<string, string>()
  const pulses: Pulse[] = []
  const requests: string[] = []
  const streams = new Set<ServerResponse>()

  const call = async (method: string, path: string, body?: object): Promise<{ id: string; generation: number }> => {
    const answer = await fetch(`${real.url}${BASE}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? { id: '', generation: 0 } : JSON.parse(text)
  }
  const pathOf = (id: string) => `/${plurals.get(id)}/${id}`

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/' } = incoming
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    requests.push(`${method} ${decodeURIComponent(url)}`)
    const fault = api.fault({ method, path: url, body })
    if (fault === 'hang') return
    if (fault === 'cut') return void outgoing.destroy()
    if (fault !== undefined) {
      outgoing.writeHead(fault.status, fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter })
      return void outgoing.end()
    }
    const forwarded = httpRequest(real.url + url, { method, headers: incoming.headers }, (answer) => {
      if (method === 'POST' && url.endsWith('/events') && (answer.statusCode ?? 500) < 300) {
        const { resourceId, reason, source, nextTime } = JSON.parse(body)
        const traceparent = incoming.headers.traceparent?.toString()
        const pulse = { id: resourceId, reason, source, traceparent, nextTime, at: clock.now() }
        outgoing.on('close', () => pulses.push(pulse))
      }
      if (api.plain) delete answer.headers['muster-features']
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      if (url.includes('watch=true')) {
        streams.add(outgoing)
        outgoing.on('close', () => streams.delete(outgoing))
      }
      answer.on('error', () => outgoing.destroy())
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    forwarded.end(body)
  }

  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const api: HyperFleetApi = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pulses,
    requests,
    fault: () => undefined,
    plain: false,
    cutStreams: () => {
      for (const stream of streams) stream.destroy()
    },
    async create(name, labels = {}, plural = 'clusters') {
      const kind = plural === 'clusters' ? 'Cluster' : 'Channel'
      const { id } = await call('POST', `/${plural}`, { kind, name, labels, spec: {} })
      names.set(id, name)
      plurals.set(id, plural)
      return id
    },
    async createIn(channel, name) {
      await call('POST', `${pathOf(channel)}/versions`, { kind: 'Version', name, spec: {} })
    },
    async patch(id) {
      await call('PATCH', pathOf(id), { spec: { changed: clock.now().toISOString(), nonce: requests.length } })
    },
    async relabel(id, labels) {
      await call('PATCH', pathOf(id), { labels })
    },
    async delete(id) {
      await call('DELETE', pathOf(id))
    },
    async report(id, available) {
      const { generation } = await call('GET', pathOf(id))
      const condition = (type: string, status: string) => ({ type, status, reason: 'Test', message: '' })
      await call('PUT', `${pathOf(id)}/statuses`, {
        adapter: 'validation',
        observed_generation: generation,
        observed_time: clock.now().toISOString(),
        conditions: [condition('Applied', 'True'), condition('Available', available), condition('Health', 'True')],
      })
    },
    async explainedPulses(id) {
      const answer = await fetch(`${real.url}${BASE}${pathOf(id)}/explain`)
      return ((await answer.json()) as { readonly pulses: object }).pulses
    },
    told: () => pulses.map(({ id, reason }) => `${names.get(id)} ${reason}`).toSorted(),
    async expect(...wanted) {
      await vi.waitFor(() => {
        if (JSON.stringify(api.told()) !== JSON.stringify(wanted.toSorted()))
          throw new Error(`pulses are ${JSON.stringify(api.told())}, not ${JSON.stringify(wanted)}`)
      }, PATIENCE)
      pulses.length = 0
      // The answer is written; until the Sentinel, in this process, has read it, the clock must not move: a pulse counts from then on.
      for (let turns = 0; turns < 5; turns += 1) await turn()
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await real.stop()
    },
  }
  return api
}
