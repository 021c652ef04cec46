/**
 * Takes a cluster down before its ClusterDeployment goes: DELETE, and waiting until the record is gone (CLUSTER-4). What another Kubernetes
 * cluster registered can't be deleted from here, and keeps its ClusterDeployment until a person has decided about it (CLUSTER-17).
 */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import type { ChangeContext, MayWait } from '#operator/engine/context.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { TemporaryError } from '#operator/model/errors.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { LEFT_BEHIND } from './conditions.ts'
import { isNamedBy, isRecordOf, registrationOf } from './decide.ts'
import type { Decision } from './decision.ts'
import { type GoneCluster, keptGone, knownGone } from './gone-clusters.ts'
import { DEPROVISION_FINALIZER, REGISTRATION } from './labels.ts'
import { LEFT_BEHIND_RECHECK_INTERVAL, type Loss } from './lost-clusters.ts'
import { readRecords } from './observe.ts'
import type { ReconcileDeps } from './reconcile.ts'
import { foreignKubernetes, type KubernetesUids } from './record/origin.ts'
import { type ClusterRecord, currentCondition, ownerOf } from './record/record.ts'
import { buildSummaryStatus, leftBehindInput } from './status.ts'

/** The stream says when a record is gone; without the stream the record is read this often. */
const RECHECK_INTERVAL = '10m'
/** A registration that was never confirmed may still arrive for this long: longer than any request lasts. Milliseconds. */
const UNCONFIRMED_GRACE_MS = 15_000

type DeregisterDeps = Omit<ReconcileDeps, 'findings'>

export const deregister =
  (deps: DeregisterDeps) =>
  async (context: ChangeContext<ClusterDeployment>): Promise<MayWait> => {
    const wait = await takeDown(deps)(context)
    if (wait === undefined) reportOtherFinalizers(context)
    return wait
  }

/** @returns undefined when it may go */
const takeDown =
  (deps: DeregisterDeps) =>
  async (context: ChangeContext<ClusterDeployment>): Promise<MayWait> => {
    const { object, events, clock } = context
    const registration = registrationOf(object)
    if (registration === undefined && object.status?.hyperfleet === undefined) return
    if (object.spec.preserveOnDelete === true) {
      deps.deleted.forget(object)
      events.normal('Preserved', `cluster ${object.status?.hyperfleet?.id ?? ''} stays in the HyperFleet API as it is`)
      return
    }
    if (deps.records.outage !== undefined) {
      deps.records.addWaiting(ownerOf(object))
      writeSummary(context, 'APIUnreachable', `${deps.records.outage}; the cluster is deleted when it answers`)
      return { requeueAfter: RECHECK_INTERVAL }
    }
    const kubernetes = await deps.kubernetes.read(context.api)
    const records = registration === undefined ? [] : deps.records.of(registration)
    const known = records.filter((one) => isRecordOf(ownerOf(object), one, kubernetes))
    if (known.length > 0 && known.every(({ deleting }) => deleting)) return reportProgress(context, known)
    let loss: Loss = { until: 0, gone: [] }
    try {
      const { all, left, foreign } = await requestDeletion(deps, context, kubernetes)
      if (left.length > 0) return reportProgress(context, left)
      if (foreign !== undefined) return hold(context, foreign, kubernetes)
      const { api, signal } = context
      const sources = { hyperfleet: deps.hyperfleet, api, now: clock.now(), signal }
      loss = await deps.lost.judge(object, await deps.lost.findGone(object, all, sources), sources)
    } catch (error) {
      if (!(error instanceof HyperFleetError)) throw error
      writeSummary(
        context,
        error.reason === 'APIUnreachable' ? error.reason : 'DeletionRefused',
        `${error.message}; tried again`,
      )
      const { message, retryAfter } = error
      throw new TemporaryError(message, { cause: error, ...(retryAfter !== undefined && { delay: retryAfter }) })
    }
    const landed = Date.parse(object.metadata.deletionTimestamp ?? '') + UNCONFIRMED_GRACE_MS - clock.now().getTime()
    // With the registration of another ClusterDeployment it never had one of its own.
    if (object.status?.hyperfleet === undefined && records.length === known.length && landed > 0) {
      writeSummary(
        context,
        'Deprovisioning',
        'its registration was never confirmed: looked for once more before it goes',
      )
      return { requeueAfter: landed }
    }
    const lost = loss.until - clock.now().getTime()
    if (lost > 0) {
      const message =
        'the HyperFleet API has lost its cluster: adapters have a while to take away what they applied for it'
      writeSummary(context, 'Deprovisioning', message, 'Reconciling', loss.gone)
      return { requeueAfter: lost }
    }
    if (loss.leftBehind !== undefined) return reportLeftBehind(context, loss.leftBehind, loss.gone)
    deps.metrics.deprovisioned(object, clock.now())
    // What follows on a lost lease this manager does not see.
    if (!context.signal.aborted) deps.deleted.add(object, clock.now())
    events.normal('Deregistered', 'the HyperFleet API has no cluster of it')
  }

/** Its last word, as nothing of Muster looks at it any more: what other programs hold (POOL-101). The pool takes the lease off by itself. */
const reportOtherFinalizers = (context: ChangeContext<ClusterDeployment>): void => {
  const { finalizers = [] } = context.object.metadata
  const others = finalizers.filter((one) => one !== DEPROVISION_FINALIZER && one !== LEASE_FINALIZER)
  if (others.length === 0) return
  const [what, which] = others.length === 1 ? ['finalizer', 'is'] : ['finalizers', 'are']
  const message = `Muster is done with it, and it stays until its ${what} ${others.join(', ')} ${which} taken off, by the program that set it`
  writeSummary(context, 'HeldByFinalizer', message)
}

/**
 * Asks for the deletion of what is not going yet.
 * @returns what is left of it, what another Kubernetes cluster registered, and all that was there before
 */
const requestDeletion = async (
  { hyperfleet }: DeregisterDeps,
  { object, signal }: ChangeContext<ClusterDeployment>,
  kubernetes: KubernetesUids,
): Promise<{
  readonly all: readonly ClusterRecord[]
  readonly left: readonly ClusterRecord[]
  readonly foreign: ClusterRecord | undefined
}> => {
  const read = async () => {
    const all = await readRecords(object, kubernetes, { hyperfleet, signal })
    const records = all.filter((record) => isNamedBy(ownerOf(object), record))
    const left = records.filter((record) => isRecordOf(ownerOf(object), record, kubernetes))
    return { all, left, foreign: records.find((record) => !left.includes(record)) }
  }
  const found = await read()
  const living = found.left.filter(({ deleting }) => !deleting)
  for (const { id } of living) await hyperfleet.remove('clusters', id, signal)
  // What no adapter worked on went with the request.
  return living.length === 0 ? found : { ...(await read()), all: found.all }
}

/** The cluster lives on, so its ClusterDeployment keeps what is leased to it. */
const hold = (
  context: ChangeContext<ClusterDeployment>,
  { id, labels }: ClusterRecord,
  kubernetes: KubernetesUids,
): MayWait => {
  const message = `cluster ${id} was registered by another Kubernetes cluster (${foreignKubernetes(labels, kubernetes)}), and lives: when this one was restored from that, tell the manager with --former-kubernetes-uids, and the cluster is deleted. Set preserveOnDelete, or remove the annotation ${REGISTRATION}, to let go of it: what it has is leased to others then`
  if (findCondition(context.object.status?.conditions, 'Stalled')?.message !== message)
    context.events.warning('RegistrationConflict', message)
  writeSummary(context, 'RegistrationConflict', message, 'Stalled')
  return { requeueAfter: RECHECK_INTERVAL }
}

/** Its customization would be leased to a second cluster otherwise. */
const reportLeftBehind = (
  context: ChangeContext<ClusterDeployment>,
  message: string,
  gone: readonly GoneCluster[],
): MayWait => {
  const { object, events, patch, clock } = context
  if (findCondition(object.status?.conditions, LEFT_BEHIND)?.message !== message) events.warning(LEFT_BEHIND, message)
  const summary = { type: 'Stalled', reason: LEFT_BEHIND, message } as const
  const status = buildSummaryStatus(object, summary, clock.now(), undefined, [leftBehindInput(message)])
  patch.status({ ...status, goneClusters: keptGone(gone, object.status?.hyperfleet?.id) })
  return { requeueAfter: LEFT_BEHIND_RECHECK_INTERVAL }
}

const reportProgress = (context: ChangeContext<ClusterDeployment>, left: readonly ClusterRecord[]): MayWait => {
  const [record] = left
  const progress = record && (currentCondition(record, 'Ready')?.message ?? 'the HyperFleet API deletes it')
  writeSummary(context, 'Deprovisioning', progress ?? '', 'Reconciling', knownGone(context.object, left))
  // By its id is known how it went: what comes from a backup has none.
  if (record !== undefined && context.object.status?.hyperfleet === undefined)
    context.patch.status({ hyperfleet: { id: record.id, href: record.href, generation: record.generation } })
  return { requeueAfter: RECHECK_INTERVAL }
}

const writeSummary = (
  { object, patch, clock }: ChangeContext<ClusterDeployment>,
  reason: string,
  message: string,
  type: Decision['kstatus']['type'] = 'Reconciling',
  gone: readonly GoneCluster[] = object.status?.goneClusters ?? [],
): void => {
  const status = buildSummaryStatus(object, { type, reason, message }, clock.now())
  patch.status({ ...status, goneClusters: keptGone(gone, object.status?.hyperfleet?.id) })
}
