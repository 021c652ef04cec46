import type { Sample } from './samples.ts'

/** The calls of the HyperFleet API that `npm run up` needs. Design: 20-hyperfleet-api, Wire. */

export interface Resource {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly href: string
  readonly generation: number
  readonly labels?: Readonly<Record<string, string>>
  readonly status: { readonly phase: 'Ready' | 'NotReady' | 'Deleting' }
}

export interface Claim {
  readonly receipt: string
  readonly event: {
    /** Names the Sentinel that asked for it. */
    readonly source: string
    readonly data: { readonly id: string; readonly href: string; readonly generation: number; readonly reason: string }
  }
}

export type ConditionStatus = 'True' | 'False' | 'Unknown'

/** An answer of 400 and above, in the API's own words. */
export class HyperfleetError extends Error {
  override readonly name = 'HyperfleetError'
}

export interface Hyperfleet {
  create(sample: Sample, owner: Resource | undefined): Promise<Resource>
  get(href: string): Promise<Resource>
  /** Makes a consumer group for all resources of a type. */
  consume(group: string, resourceType: Sample['type']): Promise<void>
  /** Waits for events, up to the long poll's end; empty when nothing came. */
  claim(group: string): Promise<readonly Claim[]>
  acknowledge(group: string, receipt: string): Promise<void>
  /** One adapter's report about a resource. */
  report(href: string, adapter: string, generation: number, available: ConditionStatus): Promise<void>
}

const BASE = '/api/hyperfleet/v1'

/**
 * @param url of the server, without a path
 * @param token shown with every request
 */
export const hyperfleet = (url: string, token: string, signal: AbortSignal): Hyperfleet => {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(url + path, {
      method,
      signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new HyperfleetError(`${method} ${path}: ${response.status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
  const groups = `${BASE}/events/consumers`
  return {
    create: ({ type, name, labels, spec }, owner) =>
      call('POST', `${owner?.href ?? BASE}/${type}`, { name, labels, spec }),
    get: (href) => call('GET', href),
    consume: (group, resourceType) => call('PUT', `${groups}/${group}`, { resourceType }),
    claim: async (group) => {
      const wanted = { max: 10, wait: '20s', visibility: '30s' }
      return (await call<{ items: readonly Claim[] }>('POST', `${groups}/${group}/claims`, wanted)).items
    },
    acknowledge: (group, receipt) => call('DELETE', `${groups}/${group}/claims/${receipt}`),
    report: (href, adapter, generation, available) =>
      call('POST', `${href}/statuses`, {
        adapter,
        observed_generation: generation,
        conditions: [
          { type: 'Applied', status: 'True', reason: 'Sampled' },
          { type: 'Available', status: available, reason: available === 'True' ? 'Done' : 'Working' },
          { type: 'Health', status: 'True', reason: 'Sampled' },
        ],
      }),
  }
}
