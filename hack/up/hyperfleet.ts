import { BASE_PATH } from '#apis/hyperfleet.redhat.com/base-path.ts'
import { ProcessError } from '../process/errors.ts'
import type { Sample } from './samples.ts'

/** The calls of the HyperFleet API that `npm run up` needs. */

export interface Resource {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly href: string
  readonly generation: number
  readonly labels?: Readonly<Record<string, string>>
  readonly owner_references?: { readonly id: string }
  readonly status: { readonly phase: 'Ready' | 'NotReady' | 'Deleting'; readonly conditions: readonly Condition[] }
}

export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
}

export interface Hyperfleet {
  create(sample: Sample, owner: Resource | undefined): Promise<Resource>
  /** All of a type. */
  list(type: Sample['type']): Promise<readonly Resource[]>
  /** Marks it and everything below it for deletion. */
  remove(href: string): Promise<void>
}

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
    if (!response.ok) throw new ProcessError(`${method} ${path}: ${response.status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
  return {
    create: ({ type, name, labels, spec }, owner) =>
      call('POST', `${owner?.href ?? BASE_PATH}/${type}`, { name, labels, spec }),
    list: async (type) => (await call<{ items: readonly Resource[] }>('GET', `${BASE_PATH}/${type}?size=100`)).items,
    remove: (href) => call('DELETE', href),
  }
}
