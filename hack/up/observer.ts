import type { ConditionStatus, Hyperfleet, Resource } from './hyperfleet.ts'
import { SAMPLES } from './samples.ts'

/** What has been seen of one sample resource. */
export interface Sighting {
  readonly resource: Resource
  /** Pulses so far. */
  readonly pulses: number
  /** Why the last one came, and from which Sentinel. */
  readonly reason?: string
  readonly source?: string
}

/** The adapter in whose name the observer reports, until there are real ones. */
const ADAPTER = 'first-light'

const GROUPS = [...new Set(SAMPLES.map(({ type }) => type))].map((type) => ({ type, name: `up-${type}` }))

/**
 * What the stand-in adapter says about a resource after its n-th pulse: still at work after the first one, so that the
 * pulse of the not-ready backoff follows; done after that.
 */
export const availableAfter = (pulses: number): ConditionStatus => (pulses < 2 ? 'Unknown' : 'True')

/** It was pulsed when it was new, again when its backoff was over, and is Ready since: the goal for each sample. */
export const isDone = ({ pulses, resource }: Sighting): boolean => pulses >= 2 && resource.status.phase === 'Ready'

/** Makes the consumer groups; a new one gets only what is posted from then on, so this comes before the samples. */
export const prepareToObserve = async (api: Hyperfleet): Promise<void> => {
  for (const { name, type } of GROUPS) await api.consume(name, type)
}

/**
 * Takes the place of an adapter: consumes events, answers each with a report, and tells what it saw.
 * Ends when the signal aborts. @throws HyperfleetError
 */
export const observe = async (
  api: Hyperfleet,
  created: readonly Resource[],
  signal: AbortSignal,
  onSighting: (all: readonly Sighting[], latest: Sighting) => void,
): Promise<void> => {
  const sightings = new Map<string, Sighting>(created.map((resource) => [resource.id, { resource, pulses: 0 }]))

  const consume = async (group: string): Promise<void> => {
    while (!signal.aborted) {
      for (const { receipt, event } of await api.claim(group)) {
        const { id, href, generation, reason } = event.data
        const before = sightings.get(id)
        if (before !== undefined) {
          const pulses = before.pulses + 1
          await api.report(href, ADAPTER, generation, availableAfter(pulses))
          const sighting = { resource: await api.get(href), pulses, reason, source: event.source }
          sightings.set(id, sighting)
          onSighting([...sightings.values()], sighting)
        }
        await api.acknowledge(group, receipt)
      }
    }
  }

  try {
    await Promise.all(GROUPS.map(({ name }) => consume(name)))
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
