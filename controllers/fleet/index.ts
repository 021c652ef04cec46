/**
 * The fleet: Deployments on devices, through NATS.
 *
 *   Deployment ─► reconcile: a step of its rollout ─► status          (in the replica that leads)
 *        ▲
 *        └─ woken for what changed of its devices ◄─ FleetState ◄─ Devices, revisions, and by NATS what devices have and say
 *                                                        └─► fleet-desired ─► agents
 *   Deployment deleted ─► its keys are removed, then its finalizer; with its namespace: as many as the brake lets through
 *
 * fleet-operator.ts is the source that keeps FleetState up to date and writes what follows from it, signed by the keys that signing.ts follows;
 * reconcile.ts does what is done for one Deployment. state/, rollout/, selection/ and status/ decide without I/O. docs/fleet.md. FLEET-25.
 */
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { type Controller, controller } from '#operator/controller.ts'
import type { SourceContext } from '#operator/engine/context.ts'
import { keyOf } from '#operator/model/resource.ts'
import { FleetOperator } from './fleet-operator.ts'
import { createFleetMetrics } from './metrics.ts'
import { isNamespaceDeleted } from './namespace-deletion.ts'
import type { FleetOptions } from './options.ts'
import { ControllerRevision, ownerOfRevision, REVISION_LABEL } from './rollout/controllerrevision.ts'

/** Others may take over sooner than from other controllers: a fleet without a leader shows old numbers. */
const LEASE_TIMES = { leaseDuration: '8s', renewDeadline: '5s', retryPeriod: '1s' } as const
const MAX_CONCURRENT_DEPLOYMENTS = 8
const RETRY_INTERVAL = '1s'
/** How often a Deployment that is being deleted is looked at while no event says that its keys are gone. */
const KEYS_RECHECK_INTERVAL = '2s'

export const fleet = (deps: FleetOptions): Controller<Deployment> => {
  const deployments = controller(Deployment, {
    name: 'fleet',
    finalizer: 'fleet.nationtech.io/finalizer',
    concurrency: MAX_CONCURRENT_DEPLOYMENTS,
  })
  deployments.watches(ControllerRevision, ownerOfRevision, { labelSelector: REVISION_LABEL })
  // Which Deployments are for it is known by FleetState: the operator wakes them.
  deployments.watches(Device, () => [])
  const metrics = createFleetMetrics(deps.registry)
  let running: FleetOperator | undefined

  deployments.source('operator', async (context: SourceContext) => {
    const { api, follow, clock, log, signal, wake } = context
    const name = deps.namespace === undefined ? 'muster-fleet' : `muster-fleet-${deps.namespace}`
    if (deps.deviceLabels?.includes('*') === true)
      log.warn('fleet: devices choose all their labels, and so their Deployments, also with a stolen key')
    running = new FleetOperator({
      access: { ...deps.nats, name: `muster-fleet ${deps.identity}` },
      namespace: deps.namespace,
      ownLabels: deps.deviceLabels ?? [],
      signingKeys: deps.signingKeys,
      lease: { name, namespace: deps.leaseNamespace, times: LEASE_TIMES },
      identity: deps.identity,
      metrics,
      api,
      follow,
      clock,
      log,
      wake,
    })
    if (deps.viewRef !== undefined) deps.viewRef.view = running.view
    try {
      await running.run(signal)
    } finally {
      running = undefined
      if (deps.viewRef !== undefined) deps.viewRef.view = undefined
    }
  })

  // A source that failed begins again, and windows open meanwhile.
  deployments.reconcile(
    ({ object }) => running?.reconcile(keyOf(object.metadata)) ?? { requeueAfter: RETRY_INTERVAL },
    {
      backoff: RETRY_INTERVAL,
    },
  )
  deployments.on.delete('keys', async ({ object, api }) => {
    const key = keyOf(object.metadata)
    const operator = running
    if (operator?.isDeletionUnexplained(key) === true) {
      if (await isNamespaceDeleted(api, object)) operator.goesWithNamespace(key)
      else operator.deletedByPerson(key)
    }
    return operator?.areKeysDeleted(key) === true ? undefined : { requeueAfter: KEYS_RECHECK_INTERVAL }
  })

  return deployments
}
