import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { ConfigMap, Namespace, NetworkPolicy, Role, RoleBinding } from '#apis/kubernetes.ts'
import type { Api } from '#operator/client/api.ts'
import { isForbidden, isNotFound } from '#operator/client/errors.ts'
import { defineResource, type KubeObject, type Resource } from '#operator/model/resource.ts'
import { ADMIN_NAMESPACE, type KindName, NAMESPACE, type Observed, TASK_ACCOUNTS_NAMESPACE } from './model.ts'

const ofKubernetes = (group: string, kind: string, plural: string, scope: Resource['scope'] = 'Namespaced') =>
  defineResource<undefined>({ group, version: 'v1', kind, plural, scope, subresources: [] }) as Resource

const ADMISSION = 'admissionregistration.k8s.io'
const RBAC = 'rbac.authorization.k8s.io'

/** What is looked at. */
export const KINDS: Readonly<Record<KindName, Resource>> = {
  Namespace,
  ValidatingAdmissionPolicy: ofKubernetes(
    ADMISSION,
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
    'Cluster',
  ),
  ValidatingAdmissionPolicyBinding: ofKubernetes(
    ADMISSION,
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    'Cluster',
  ),
  NetworkPolicy,
  Deployment: ofKubernetes('apps', 'Deployment', 'deployments'),
  StatefulSet: ofKubernetes('apps', 'StatefulSet', 'statefulsets'),
  DaemonSet: ofKubernetes('apps', 'DaemonSet', 'daemonsets'),
  ConfigMap,
  ClusterRole: ofKubernetes(RBAC, 'ClusterRole', 'clusterroles', 'Cluster'),
  ClusterRoleBinding: ofKubernetes(RBAC, 'ClusterRoleBinding', 'clusterrolebindings', 'Cluster'),
  Role,
  RoleBinding,
  AppProject: defineResource<undefined>({
    group: 'argoproj.io',
    version: 'v1alpha1',
    kind: 'AppProject',
    plural: 'appprojects',
    scope: 'Namespaced',
    subresources: [],
  }),
  ClusterClaim,
  ClusterPool,
  ClusterDeployment,
  Device,
  AdapterTask,
  SentinelConfig,
}

/** Wherever they are: Argo CD has a namespace of its own, claims and pools those of their teams, clusters one each, and devices none. */
const EVERYWHERE: readonly KindName[] = [
  'AdapterTask',
  'AppProject',
  'ClusterClaim',
  'ClusterDeployment',
  'ClusterPool',
  'Device',
  'NetworkPolicy',
  'SentinelConfig',
]

const OF_RIGHTS = [NAMESPACE, TASK_ACCOUNTS_NAMESPACE, ADMIN_NAMESPACE]

/** Others are read in Muster's namespace alone. */
const PLACES: Partial<Readonly<Record<KindName, readonly string[]>>> = {
  Role: OF_RIGHTS,
  RoleBinding: OF_RIGHTS,
}

/** Lists every kind that a check reads. A kind that is not installed has no objects. @throws ApiError for other answers than 403 and 404, NetworkError */
export const observe = async (api: Api): Promise<Observed> => {
  const kinds = Object.keys(KINDS) as KindName[]
  return Object.fromEntries(
    await Promise.all(kinds.map(async (kind) => [kind, await readAll(api, kind)] as const)),
  ) as unknown as Observed
}

const readAll = async (api: Api, kind: KindName): Promise<readonly KubeObject[] | { readonly unread: string }> => {
  try {
    if (kind === 'Namespace') {
      const found = await api.get(Namespace, NAMESPACE)
      const ofClusters = await Array.fromAsync(api.list(Namespace, { labelSelector: POOL_LABELS.uid }))
      return found === undefined ? ofClusters : [found, ...ofClusters]
    }
    if (EVERYWHERE.includes(kind)) return await Array.fromAsync(api.list(KINDS[kind], {}))
    const lists = (PLACES[kind] ?? [NAMESPACE]).map((namespace) =>
      Array.fromAsync(api.list(KINDS[kind], { namespace })),
    )
    return (await Promise.all(lists)).flat()
  } catch (error) {
    if (isNotFound(error)) return []
    if (isForbidden(error)) return { unread: error.message }
    throw error
  }
}
