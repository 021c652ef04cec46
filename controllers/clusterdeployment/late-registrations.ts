/**
 * Registrations that arrive after their ClusterDeployment went: a proxy gave a request on late, or a process slept before it. The manager
 * that let ClusterDeployments go remembers them, and deletes what is registered for them all the same (CLUSTER-12), until it loses its lease:
 * what became of them since, such as that one was restored and preserved, it did not see. Nothing is deleted merely because its
 * ClusterDeployment is not there: a restored Kubernetes does not know what was made after its backup.
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { SourceContext } from '#operator/index.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { expectedRegistration, isRecordOf, registrationOf } from './decide.ts'
import type { KubernetesIdentity } from './record/origin.ts'
import { type ClusterRecord, type Owner, ownerOf } from './record/record.ts'
import type { RecordCache } from './record/record-cache.ts'

/** Longer than anything holds a request back, in milliseconds. */
const REMEMBERED_MS = 24 * 3_600_000
const SWEEP_INTERVAL = '30s'

interface DeletedDeployment extends Owner {
  readonly registration: string
  readonly at: number
}

/** ClusterDeployments that were registered, and that this manager let go when their clusters were gone. */
export class DeletedDeployments {
  /** The oldest first. */
  readonly #deleted = new Map<string, DeletedDeployment>()

  /** It goes, and its cluster is gone. */
  add(deployment: ClusterDeployment, now: Date): void {
    this.forget(deployment)
    const registration = registrationOf(deployment)
    if (registration !== undefined)
      this.#deleted.set(keyOf(deployment), { ...ownerOf(deployment), registration, at: now.getTime() })
  }

  /** It lives, as after a restore, or its cluster is to be preserved: what is registered for it stays. */
  forget(deployment: ClusterDeployment): void {
    this.#deleted.delete(keyOf(deployment))
  }

  /** Another manager may lead from now on. */
  clear(): void {
    this.#deleted.clear()
  }

  /** Those of the last day. */
  all(now: Date): readonly DeletedDeployment[] {
    for (const [key, { at }] of this.#deleted) {
      if (now.getTime() - at < REMEMBERED_MS) break
      this.#deleted.delete(key)
    }
    return [...this.#deleted.values()]
  }
}

/** A copy has the registration of another one (CLUSTER-9): its deletion says nothing about that one. */
const keyOf = (deployment: ClusterDeployment): string =>
  [deployment.metadata.namespace, deployment.metadata.name, registrationOf(deployment)].join('/')

export interface LateRegistrationSources {
  readonly deleted: DeletedDeployments
  readonly records: Pick<RecordCache, 'of'>
  readonly hyperfleet: Pick<HyperFleetClient, 'remove'>
  readonly kubernetes: KubernetesIdentity
}

type SweepContext = Pick<SourceContext, 'clock' | 'log' | 'signal'> & {
  readonly api: Pick<SourceContext['api'], 'get'>
}

/** Deletes them until the signal aborts, as when the lease is lost; then all is forgotten. */
export const removeLateRegistrations = async (
  sources: LateRegistrationSources,
  context: SweepContext,
): Promise<void> => {
  const { deleted, records } = sources
  const { clock, log, signal } = context
  try {
    while (!signal.aborted) {
      for (const one of deleted.all(clock.now()))
        for (const record of records.of(one.registration)) {
          try {
            if (!record.deleting) await removeRecord(one, record, sources, context)
          } catch (error) {
            if (signal.aborted) return
            log.warn(`cluster ${record.id}, whose ClusterDeployment was deleted, can't be deleted; tried again`, {
              err: error,
            })
          }
        }
      await clock.sleep(SWEEP_INTERVAL, signal)
    }
  } finally {
    if (signal.aborted) deleted.clear()
  }
}

const removeRecord = async (
  one: DeletedDeployment,
  record: ClusterRecord,
  { hyperfleet, kubernetes }: LateRegistrationSources,
  { api, log, signal }: SweepContext,
): Promise<void> => {
  if (!isRecordOf(one, record, await kubernetes.read(api))) return
  // A cache is no proof, and it may have been restored since.
  const found = await api.get(ClusterDeployment, one.name, one.namespace)
  if (found !== undefined && expectedRegistration(found) === one.registration) return
  await hyperfleet.remove('clusters', record.id, signal)
  log.info('deleted from the HyperFleet API: it was registered after its ClusterDeployment went', {
    cluster: record.id,
  })
}
