/** Looks on through a watch of its own: which customizations were ever in two clusters at once. */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { controller, operator, type Transport } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { keyOf } from '#operator/model/resource.ts'

export interface Observer {
  /** One line for each time that two clusters had the same customization. */
  readonly twice: readonly string[]
  /** How many clusters were seen that had one. */
  readonly seen: () => number
  stop(): Promise<void>
}

/** @param namespace of the customizations */
export const startObserver = async (transport: Transport, namespace: string): Promise<Observer> => {
  const clusters = controller(ClusterDeployment, { name: 'observer' })
  const holders = new Map<string, Set<string>>()
  const twice: string[] = []
  const seen = new Set<string>()
  clusters.on.event('look', ({ type, object: { metadata, spec } }) => {
    const pool = spec.clusterPoolRef
    const customization = pool?.clusterDeploymentCustomization?.name
    if (pool?.namespace !== namespace || customization === undefined) return
    const key = keyOf(metadata)
    const others = holders.get(customization) ?? new Set()
    holders.set(customization, others)
    // One that only its lease holds is as good as gone: the record in the API is deleted.
    const isEnded =
      metadata.deletionTimestamp !== undefined && metadata.finalizers?.every((one) => one === LEASE_FINALIZER)
    if (type === 'deleted' || isEnded) others.delete(key)
    else {
      others.add(key)
      seen.add(key)
    }
    if (others.size > 1) twice.push(`${customization}: ${[...others].join(' and ')}`)
  })
  const running = operator({ controllers: [clusters], transport, log: silent })
  const ended = running.start()
  await running.ready
  return {
    twice,
    seen: () => seen.size,
    stop: async () => {
      await running.stop()
      await ended
    },
  }
}
