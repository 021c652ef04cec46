import type { KubeObject } from './resource.ts'

/** The label or annotation must be there, with any value. */
export const PRESENT: unique symbol = Symbol('present')
/** The label or annotation must not be there. */
export const ABSENT: unique symbol = Symbol('absent')

/** By key: the exact value, PRESENT, ABSENT, or a question about the value. */
export type MetaFilter = Readonly<
  Record<string, string | typeof PRESENT | typeof ABSENT | ((value: string | undefined) => boolean)>
>

/** Which objects a handler is for. All parts must agree; none means every object. */
export interface Filters<O extends KubeObject> {
  readonly labels?: MetaFilter
  readonly annotations?: MetaFilter
  when?(object: O): boolean
}

/** Whether a handler with these filters is for this object. */
export const matches = <O extends KubeObject>(filters: Filters<O>, object: O): boolean =>
  metaMatches(filters.labels, object.metadata.labels) &&
  metaMatches(filters.annotations, object.metadata.annotations) &&
  (filters.when === undefined || filters.when(object))

const metaMatches = (filter: MetaFilter | undefined, values: Readonly<Record<string, string>> | undefined): boolean => {
  if (filter === undefined) return true
  return Object.entries(filter).every(([key, expected]) => {
    const value = values?.[key]
    if (expected === PRESENT) return value !== undefined
    if (expected === ABSENT) return value === undefined
    return typeof expected === 'function' ? expected(value) : value === expected
  })
}
