/** Stands in for the bridge to the HyperFleet API: what it does to a ClusterDeployment is the contract of docs/decisions/pool-plan.md. */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { controller, operator, type Transport } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'

export interface Installer {
  /** Clusters of these customizations are never installed: their installation is given up. */
  readonly cursed: Set<string>
  /** Clusters of these customizations, or all with '*', stay as they are for now. */
  readonly slow: Set<string>
  /** Look at all clusters again, after `cursed` or `slow` was changed. */
  wake(): void
  stop(): Promise<void>
}

/** @param namespace of the pools whose clusters it installs */
export const startInstaller = async (transport: Transport, namespace: string): Promise<Installer> => {
  const cursed = new Set<string>()
  const slow = new Set<string>()
  // Of its own: an installer takes its finalizer off what is not its own, and several share an API server.
  const finalizer = `hive.openshift.io/deprovision-${namespace}`
  const clusters = controller(ClusterDeployment, { name: 'installer', finalizer })
  const mine = { labels: { [POOL_LABELS.namespace]: namespace } }
  const wakeups = new Set<() => void>()
  const all = clusters.index('all', ({ metadata }) => [['all', metadata]])
  const nameOf = ({ spec }: ClusterDeployment) => spec.clusterPoolRef?.clusterDeploymentCustomization?.name ?? ''
  const isSlow = (cluster: ClusterDeployment) => slow.has('*') || slow.has(nameOf(cluster))

  clusters.source('wake', async ({ wake, signal }) => {
    const again = () => {
      for (const metadata of all.get('all')) wake(metadata)
    }
    wakeups.add(again)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    wakeups.delete(again)
  })
  clusters.reconcile(({ object, spec, patch, clock }) => {
    if (isSlow(object)) return
    const lastTransitionTime = clock.now().toISOString()
    if (cursed.has(nameOf(object)) && !spec.installed) {
      const message = 'the cloud said no'
      const stopped = { type: 'ProvisionStopped', status: 'True', reason: 'InstallAttemptsLimitReached' } as const
      if (object.status?.conditions === undefined)
        patch.status({ conditions: [{ ...stopped, message, lastTransitionTime }] })
      return
    }
    patch.merge({ spec: { installed: true } })
    patch.status({ powerState: spec.powerState })
  }, mine)
  clusters.on.delete('deprovision', (context) => (isSlow(context.object) ? { requeueAfter: '1h' } : undefined), mine)

  const running = operator({ controllers: [clusters], transport, log: silent })
  const ended = running.start()
  await running.ready
  return {
    cursed,
    slow,
    wake: () => {
      for (const again of wakeups) again()
    },
    stop: async () => {
      await running.stop()
      await ended
    },
  }
}
