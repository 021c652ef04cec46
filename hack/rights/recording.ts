import { join } from 'node:path'
import { dump, load } from 'js-yaml'
import type { Call } from './call.ts'
import { inReadingOrder } from './rule.ts'

/** The environment variable that names the folder in which a test run leaves its audit logs, to be recorded. */
export const RECORDING = 'MUSTER_RECORD_CALLS'

/** What one controller was seen to call: verbs by API group ('' for core) and resource. */
export type Recording = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

/** A call, of any user and any object. */
export type Called = Pick<Call, 'verb' | 'group' | 'resource'>

/** The calls as a recording: each verb once, everything in a fixed order. */
export const recordingOf = (calls: Iterable<Called>): Recording => {
  const byGroup = Map.groupBy(calls, ({ group }) => group)
  return sorted(byGroup, (inGroup) =>
    sorted(
      Map.groupBy(inGroup, ({ resource }) => resource),
      (same) => inReadingOrder(same.map(({ verb }) => verb)),
    ),
  )
}

/** A recording as calls, without account and name. */
export const callsIn = (recording: Recording): readonly Called[] =>
  Object.entries(recording).flatMap(([group, resources]) =>
    Object.entries(resources).flatMap(([resource, verbs]) => verbs.map((verb) => ({ group, resource, verb }))),
  )

/** The file of a recording. */
export const recordingText = (controller: string, recording: Recording): string =>
  `# Recorded by "npm run rights -- ${controller}" from what its tests call: do not edit. See docs/decisions/rights-from-calls.md\n${dump(recording, { flowLevel: 2, lineWidth: 120 })}`

/** Where the recording of a controller is kept. */
export const recordingPath = (controller: string): string => join(import.meta.dirname, 'recorded', `${controller}.yaml`)

export const parseRecording = (text: string): Recording => load(text) as Recording

/** A map as an object whose keys are in order. */
const sorted = <T, U>(map: ReadonlyMap<string, T>, to: (value: T) => U): Readonly<Record<string, U>> =>
  Object.fromEntries([...map].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, to(value)]))
