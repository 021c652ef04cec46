/**
 * Registrations that arrive after their ClusterDeployment went: a proxy gave a request on late, or a process slept before it. Each process
 * remembers which registrations it asked for or saw end, and deletes what is registered by them all the same (CLUSTER-12). Nothing is deleted
 * merely because its ClusterDeployment is not there: a restored Kubernetes does not know what was made after its backup.
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { SourceContext } from '#operator/index.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { registrationOf } from './decide.ts'
import type { ClusterRecord } from './record/record.ts'
import type { RecordCache } from './record/record-cache.ts'

/** Longer than anything holds a request back, in milliseconds. */
const REMEMBERED_MS = 24 * 3_600_000
const SWEEP_INTERVAL = '30s'

/** Registrations that this process asked for or saw end; whether their ClusterDeployments are there is another matter. */
export class AskedRegistrations {
  /** When each was asked for or ended last; the oldest first. */
  readonly #times = new Map<string, number>()

  add(registration: string, now: Date): void {
    this.#times.delete(registration)
    this.#times.set(registration, now.getTime())
  }

  /** Those of the last day. */
  all(now: Date): readonly string[] {
    for (const [registration, at] of this.#times) {
      if (now.getTime() - at < REMEMBERED_MS) break
      this.#times.delete(registration)
    }
    return [...this.#times.keys()]
  }
}

export interface LateRegistrationSources {
  readonly asked: AskedRegistrations
  readonly records: RecordCache
  readonly hyperfleet: HyperFleetClient
  /** Whether the cache has a ClusterDeployment with this registration. */
  isKnown(registration: string): boolean
}

type SweepContext = Pick<SourceContext, 'api' | 'clock' | 'log' | 'signal'>

/** Deletes them until the signal aborts. */
export const removeLateRegistrations = async (
  sources: LateRegistrationSources,
  context: SweepContext,
): Promise<void> => {
  const { asked, records, isKnown } = sources
  const { clock, log, signal } = context
  while (!signal.aborted) {
    const late = asked.all(clock.now()).filter((registration) => !isKnown(registration))
    for (const record of late.flatMap((registration) => records.of(registration))) {
      try {
        if (!record.deleting) await removeRecord(record, sources, context)
      } catch (error) {
        if (signal.aborted) return
        log.warn(`cluster ${record.id}, whose ClusterDeployment is gone, can't be deleted; tried again`, { err: error })
      }
    }
    await clock.sleep(SWEEP_INTERVAL, signal)
  }
}

const removeRecord = async (
  { id, registration, owner }: ClusterRecord,
  { hyperfleet }: LateRegistrationSources,
  { api, log, signal }: SweepContext,
): Promise<void> => {
  // A cache is no proof.
  const found = owner && (await api.get(ClusterDeployment, owner.name, owner.namespace))
  if (found && (registrationOf(found) ?? found.metadata.uid) === registration) return
  await hyperfleet.remove('clusters', id, signal)
  log.info('deleted from the HyperFleet API: it was registered after its ClusterDeployment went', { cluster: id })
}
