/** What a ClusterDeployment's decision rests on, read from the API servers. */

import { InstallConfigError, parseInstallConfig } from '#apis/hive.openshift.io/model/install-config.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { Secret } from '#apis/kubernetes.ts'
import type { Api } from '#operator/client/api.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { expectedRegistration, isNamedBy, isRecordOf, registrationOf } from './decide.ts'
import type { Observed } from './decision.ts'
import { waitsForLost } from './gone-clusters.ts'
import { CUSTOMIZATION, REGISTRATION } from './labels.ts'
import { findLeaseProblem } from './lease.ts'
import type { LostClusters } from './lost-clusters.ts'
import { type KubernetesIdentity, type KubernetesUids, originLabels } from './record/origin.ts'
import { type ClusterRecord, ownerOf, recordOf } from './record/record.ts'
import { byAge } from './record/record-cache.ts'

const INSTALL_CONFIG = 'install-config.yaml'

export interface ObserveSources {
  readonly api: Api
  readonly hyperfleet: HyperFleetClient
  readonly kubernetes: KubernetesIdentity
  readonly lost: LostClusters
  readonly now: Date
  readonly signal: AbortSignal
}

/** As `Observed`, and the install-config that was read; undefined where none is named. */
export interface FreshObservation extends Observed {
  readonly installConfig: unknown
  /** What the cluster leases, as it was read for `readLeaseProblem`; undefined when it is not there, or none is named. */
  readonly customization: ClusterDeploymentCustomization | undefined
}

/**
 * Everything as it is now, not as caches have it.
 * @returns undefined when the ClusterDeployment is gone or going
 * @throws HyperFleetError, ApiError, NetworkError
 */
export const observe = async (
  before: ClusterDeployment,
  readers: ObserveSources,
): Promise<FreshObservation | undefined> => {
  const { name, namespace, uid } = before.metadata
  const deployment = await readers.api.get(ClusterDeployment, name, namespace)
  if (deployment === undefined || deployment.metadata.uid !== uid) return undefined
  if (deployment.metadata.deletionTimestamp !== undefined) return undefined
  const kubernetes = await readers.kubernetes.read(readers.api)
  const records = await readRecords(deployment, kubernetes, readers)
  const gone = await readers.lost.findGone(deployment, records, readers)
  const isJudged = records.length === 0 && waitsForLost(deployment, gone)
  const config = await readInstallConfig(deployment, readers)
  const customization = await readCustomization(deployment, readers)
  return {
    deployment,
    records,
    gone,
    loss: isJudged ? await readers.lost.judge(deployment, gone, readers) : undefined,
    readLeaseProblem: findLeaseProblem(deployment, customization),
    installConfigProblem: config.problem,
    installConfig: config.document,
    customization,
    kubernetes,
    // After the customization: what was registered under a lease before this one is there by now.
    otherUser: records.length > 0 ? undefined : await findOtherUser(deployment, kubernetes, readers),
  }
}

/** Its records as the API has them now, the oldest first. @throws HyperFleetError */
export const readRecords = async (
  deployment: ClusterDeployment,
  kubernetes: KubernetesUids,
  { hyperfleet, signal }: Pick<ObserveSources, 'hyperfleet' | 'signal'>,
): Promise<readonly ClusterRecord[]> => {
  const registration = registrationOf(deployment)
  const records = new Map<string, ClusterRecord>()
  if (registration !== undefined) {
    const { items } = await hyperfleet.list(
      'clusters',
      { labels: `${REGISTRATION}=${registration}`, size: '100' },
      signal,
    )
    for (const record of items.flatMap((item) => recordOf(item) ?? [])) records.set(record.id, record)
  }
  const known = deployment.status?.hyperfleet?.id
  if (known !== undefined && !records.has(known)) {
    // The label may have been taken off.
    const record = recordOf(await hyperfleet.get('clusters', known, signal))
    const owner = ownerOf(deployment)
    // Without the annotation it has let go of what another Kubernetes cluster registered (CLUSTER-17).
    const isClaimed = (one: ClusterRecord): boolean =>
      registration === undefined ? isRecordOf(owner, one, kubernetes) : isNamedBy(owner, one)
    if (record !== undefined && isClaimed(record)) records.set(record.id, record)
  }
  return [...records.values()].toSorted(byAge)
}

/** Another cluster that the API has with its customization (CLUSTER-13): Kubernetes may have forgotten it. @throws HyperFleetError */
const findOtherUser = async (
  deployment: ClusterDeployment,
  { own, former }: KubernetesUids,
  { hyperfleet, signal }: ObserveSources,
): Promise<ClusterRecord | undefined> => {
  const records: ClusterRecord[] = []
  for (const uid of [own, ...former]) {
    const { [CUSTOMIZATION]: customization } = originLabels(deployment, uid)
    if (customization === undefined) return undefined
    const labels = `${CUSTOMIZATION}=${customization}`
    const { items } = await hyperfleet.list('clusters', { labels, size: '100' }, signal)
    records.push(...items.flatMap((item) => recordOf(item) ?? []))
  }
  // A backup may be older than the annotation: what was registered by its uid is its own.
  const expected = expectedRegistration(deployment)
  return records.toSorted(byAge).find(({ registration }) => registration !== expected)
}

const readCustomization = async (
  { spec: { clusterPoolRef: pool } }: ClusterDeployment,
  { api }: ObserveSources,
): Promise<ClusterDeploymentCustomization | undefined> => {
  const leased = pool?.clusterDeploymentCustomization?.name
  return leased === undefined ? undefined : api.get(ClusterDeploymentCustomization, leased, pool?.namespace)
}

const readInstallConfig = async (
  { metadata: { namespace = '' }, spec }: ClusterDeployment,
  { api }: ObserveSources,
): Promise<{ readonly document?: unknown; readonly problem?: string }> => {
  const name = spec.provisioning?.installConfigSecretRef?.name
  if (name === undefined) return {}
  const secret = await api.get(Secret, name, namespace)
  if (secret === undefined) return { problem: `Secret ${name} is not there; looked for again soon` }
  const text = secret.data?.[INSTALL_CONFIG]
  if (text === undefined) return { problem: `Secret ${name} has no key ${INSTALL_CONFIG}; looked for again soon` }
  try {
    return { document: parseInstallConfig(Buffer.from(text, 'base64').toString('utf8')) }
  } catch (error) {
    if (!(error instanceof InstallConfigError)) throw error
    return { problem: `Secret ${name}: ${error.message}; read again soon` }
  }
}
