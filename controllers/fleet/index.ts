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
 * running-operator.ts gives the handlers the one that runs; reconcile.ts does what is done for one Deployment. state/, rollout/, selection/ and
 * status/ decide without I/O. docs/fleet.md. FLEET-25.
 */
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { type Controller, controller } from '#operator/controller.ts'
import { createFleetMetrics } from './metrics.ts'
import type { FleetOptions } from './options.ts'
import { ControllerRevision, ownerOfRevision, REVISION_LABEL } from './rollout/controllerrevision.ts'
import { RETRY_INTERVAL, RunningOperator } from './running-operator.ts'

const MAX_CONCURRENT_DEPLOYMENTS = 8

export const fleet = (deps: FleetOptions): Controller<Deployment> => {
  const deployments = controller(Deployment, {
    name: 'fleet',
    finalizer: 'fleet.nationtech.io/finalizer',
    concurrency: MAX_CONCURRENT_DEPLOYMENTS,
  })
  const operator = new RunningOperator(deps, createFleetMetrics(deps.registry))

  deployments.watches(ControllerRevision, ownerOfRevision, { labelSelector: REVISION_LABEL })
  // Which Deployments are for it is known by FleetState: the operator wakes them.
  deployments.watches(Device, () => [])
  deployments.source('operator', (context) => operator.run(context))
  deployments.reconcile(({ object }) => operator.reconcile(object), { backoff: RETRY_INTERVAL })
  deployments.on.delete('keys', ({ object, api }) => operator.removeKeys(object, api))

  return deployments
}
