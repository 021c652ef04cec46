/**
 * ClusterDeployments: each is a cluster of the HyperFleet API, where adapters make it.
 *
 *   ClusterDeployment ─► reconcile: observe ─► decide ─► execute: POST, PATCH /clusters      the pool holds the lease meanwhile
 *        ▲    └─ deleted ─► remove ─► DELETE, until the record is gone
 *        ├─ status, installed ◄── stream of /clusters (outside)      seen being deleted, and registered all the same ─► late-registrations.ts deletes it
 *        └─ apiURL, Unreachable ◄── reachability/: which kubeconfig its adapters made, and whether its API server answers
 *
 * What it promises: docs/clusterpools.md. Why it is so: docs/decisions/cluster-registration.md.
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { type Controller, controller } from '#operator/controller.ts'
import { isTrue } from '#operator/model/conditions.ts'
import { connectApi } from './connect-api.ts'
import { expectedRegistration } from './decide.ts'
import { deregister } from './deregister.ts'
import { DEPROVISION_FINALIZER } from './labels.ts'
import { DeletedDeployments, removeLateRegistrations } from './late-registrations.ts'
import { LostClusters } from './lost-clusters.ts'
import { createMetrics, type State, stateOf } from './metrics.ts'
import type { ClusterDeploymentOptions } from './options.ts'
import { isProbed, needsKubeconfig } from './reachability/condition.ts'
import { findAdminKubeconfig } from './reachability/find-kubeconfig.ts'
import { Findings } from './reachability/findings.ts'
import { watchReachability } from './reachability/watch-reachability.ts'
import { reconcile } from './reconcile.ts'
import { countForgotten } from './record/forgotten.ts'
import { KubernetesIdentity } from './record/origin.ts'
import { type Owner, ownerOf } from './record/record.ts'
import { RecordCache } from './record/record-cache.ts'
import { followRecords } from './record/record-stream.ts'

/** After the API refused something or did not answer. */
const BACKOFF = { initial: '500ms', factor: 2, max: '1m' } as const

export const clusterDeployment = (deps: ClusterDeploymentOptions): Controller<ClusterDeployment> => {
  // All that has to be remembered stands in status and records.
  const deployments = controller(ClusterDeployment, {
    name: 'clusterdeployment',
    finalizer: DEPROVISION_FINALIZER,
  })
  const states = deployments.index<State, true>('state', (one) => [[stateOf(one), true]])
  const unsettled = deployments.index<true, Owner>('unsettled', (one) =>
    isTrue(one.status?.conditions, 'Ready') ? [] : [[true, ownerOf(one)]],
  )
  const registrations = deployments.index<string, true>('registration', (one) => [[expectedRegistration(one), true]])
  const records = new RecordCache()
  const hyperfleet = connectApi(deps)
  const kubernetes = new KubernetesIdentity(deps.formerKubernetesUids ?? [])
  const deleted = new DeletedDeployments()
  const forgotten = () => countForgotten(records, { kubernetes, registrations })
  const metrics = createMetrics(deps.registry, records, states, forgotten)
  const findings = new Findings()
  const doing = { hyperfleet, records, kubernetes, deleted, lost: new LostClusters(), metrics, findings }

  deployments.reconcile(reconcile(doing), { backoff: BACKOFF })
  // The id is in stored progress and in metrics, so it stays.
  deployments.on.delete('withdraw', deregister(doing), { backoff: BACKOFF })
  deployments.watches(ClusterDeploymentCustomization, ({ status }) =>
    status?.clusterDeploymentRef === undefined ? [] : [status.clusterDeploymentRef],
  )
  deployments.daemon('kubeconfig', findAdminKubeconfig(findings), { when: needsKubeconfig, backoff: BACKOFF })
  deployments.daemon('reachability', watchReachability(findings, deps.version), { when: isProbed, backoff: BACKOFF })
  deployments.source('findings', ({ wake, signal }) => findings.follow(wake, signal))
  deployments.source('stream', ({ wake, log, signal }) => {
    const onAvailabilityChange = () => [...records.takeWaiting(), ...unsettled.get(true)].forEach(wake)
    return followRecords(
      { api: hyperfleet, records, clock: deps.clock, log, onChange: wake, onAvailabilityChange },
      signal,
    )
  })
  deployments.source('late-registrations', (context) =>
    removeLateRegistrations({ deleted, records, hyperfleet, kubernetes }, context),
  )

  return deployments
}
