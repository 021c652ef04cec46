/** The daemon that finds the admin kubeconfig of a cluster which its adapters made, and has the ClusterDeployment name it: CLUSTER-18. */
import {
  AdminKubeconfigError,
  adminKubeconfigName,
  defaultSecretName,
  kubeconfigIn,
  parseAdminKubeconfig,
  readAdminKubeconfig,
  serverOf,
} from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { Secret } from '#apis/kubernetes.ts'
import type { Api } from '#operator/client/api.ts'
import { isConflict } from '#operator/client/errors.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { type Backoff, backoffDelay } from '#operator/model/outcome.ts'
import { missingKubeconfig } from './condition.ts'
import type { Finding, Findings } from './findings.ts'
import { findForeignSecret } from './own-secret.ts'

/** Between looks, in milliseconds: Secrets are not watched, and many a provider makes none. */
const BACKOFF: Backoff = { initial: 1_000, factor: 2, max: 300_000, jitter: 0.2 }
/** When another writer was first, mostly the pass that says that it is installed. A claim may have the cluster by now. Milliseconds. */
const OVERTAKEN_MS = 100

/** Until the ClusterDeployment says all, and the daemon is ended for that. @throws ApiError, NetworkError */
export const findAdminKubeconfig =
  (findings: Findings) =>
  async (context: DaemonContext<ClusterDeployment>): Promise<void> => {
    const { api, clock, signal } = context
    try {
      for (let looks = 1; !signal.aborted; looks += 1) {
        const finding = await look(api, context.object)
        if (finding === undefined) looks = 0
        else findings.record(context.object, 'kubeconfig', finding)
        await clock.sleep(looks === 0 ? OVERTAKEN_MS : backoffDelay(BACKOFF, looks, Math.random()), signal)
      }
    } finally {
      findings.forget(context.object, 'kubeconfig')
    }
  }

/** @returns undefined when the ClusterDeployment was written meanwhile: it is looked at anew */
const look = async (api: Api, cluster: ClusterDeployment): Promise<Finding | undefined> => {
  const { name, namespace } = cluster.metadata
  try {
    if (adminKubeconfigName(cluster) !== undefined) return toFinding(await readAdminKubeconfig(api, cluster))
    const secret = await api.get(Secret, defaultSecretName(name), namespace)
    return secret === undefined ? { unreachable: missingKubeconfig(cluster) } : await adopt(api, cluster, secret)
  } catch (error) {
    if (error instanceof AdminKubeconfigError) return unusable(error.message)
    if (isConflict(error)) return undefined
    throw error
  }
}

/** Has the ClusterDeployment name the Secret, as it is now: a person may have named another one. @throws AdminKubeconfigError, ApiError */
const adopt = async (api: Api, cached: ClusterDeployment, secret: Secret): Promise<Finding | undefined> => {
  const { name, namespace, uid } = cached.metadata
  const cluster = await api.get(ClusterDeployment, name, namespace)
  if (cluster?.metadata.uid !== uid || adminKubeconfigName(cluster) !== undefined) return undefined
  const foreign = findForeignSecret(cluster, secret)
  if (foreign !== undefined) return unusable(foreign)
  const finding = toFinding(kubeconfigIn(secret))
  const clusterMetadata = { adminKubeconfigSecretRef: { name: secret.metadata.name } }
  await api.patchIfUnchanged(ClusterDeployment, cluster, { spec: { clusterMetadata } })
  return finding
}

const unusable = (message: string): Finding => ({
  unreachable: { status: 'Unknown', reason: 'KubeconfigUnusable', message },
})

/** @throws AdminKubeconfigError */
const toFinding = (kubeconfig: Parameters<typeof parseAdminKubeconfig>[0]): Finding => ({
  apiURL: serverOf(parseAdminKubeconfig(kubeconfig)),
  unreachable: { status: 'Unknown', reason: 'NotReachedYet', message: 'about to be looked at' },
})
