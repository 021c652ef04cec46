import type { Rights } from '#operator/rights.ts'
import { type Called, callsIn, type Recording, recordingOf } from './recording.ts'
import { inReadingOrder } from './rule.ts'

/** Verbs on one resource that a controller needs, and why. */
export interface Need {
  /** '' for the core group. */
  readonly group: string
  /** Plural, with a subresource behind a slash. */
  readonly resource: string
  readonly verbs: readonly string[]
  /** Only on the object of this name. */
  readonly name?: string
  readonly why: string | undefined
}

/** A call that stands for another one, which is made rarely or with some API servers only. */
const brings = ({ group, resource, verb }: Called): readonly Called[] => {
  // The client reads the objects within the watch, and lists them where the API server can't: operator/client/reflector.ts.
  if (verb === 'watch') return [{ group, resource, verb: 'list' }]
  // An Event that is said again within minutes is counted up: operator/client/events.ts.
  if (group === 'events.k8s.io' && verb === 'create') return [{ group, resource, verb: 'patch' }]
  return []
}

const isSame = (a: Called, b: Called): boolean => a.group === b.group && a.resource === b.resource && a.verb === b.verb

/** What is left when rights are taken out that a controller has anyway, so that a recording does not depend on luck. */
export const withoutLuck = ({ rare }: Rights, calls: readonly Called[]): readonly Called[] => {
  const had = [
    ...calls.flatMap(brings),
    ...rare.flatMap(({ group, resource, verbs }) => verbs.map((verb) => ({ group, resource, verb }))),
  ]
  return calls.filter((call) => !had.some((other) => isSame(call, other)))
}

/**
 * What a controller must be allowed: what it was recorded to call, but for what an option switches on, and what is rare.
 * @throws Error when the grant tells why something is called that is not
 */
export const needsOf = (controller: string, grant: Rights, recording: Recording): readonly Need[] => {
  const { why, optional = {}, rare } = grant
  const calls = callsIn(recording).filter(({ resource }) => optional[resource] === undefined)
  const whole = recordingOf([...calls, ...calls.flatMap(brings)])
  const needs = Object.entries(whole).flatMap(([group, resources]) =>
    Object.entries(resources).map(([resource, verbs]) => ({ group, resource, verbs, why: why[resource] })),
  )
  const idle = Object.keys(why).filter((resource) => needs.every((need) => need.resource !== resource))
  if (idle.length > 0)
    throw new Error(`controllers/${controller}/entry.ts: ${controller} does not call ${idle.join(', ')}: take out why`)
  return [
    ...needs,
    ...rare.map(({ reason, verbs, ...need }) => ({ ...need, verbs: inReadingOrder(verbs), why: reason })),
  ]
}
