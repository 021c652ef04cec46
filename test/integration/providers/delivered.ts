/** A provider as it is delivered, for one test: its API, its namespaces and its names in the cluster are the test's. */
import { loadAll } from 'js-yaml'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import type { KubeObject } from '#operator/index.ts'
import type { AdapterWorld } from '../adapter/world.ts'

interface Delivered {
  /** With its kustomization. */
  readonly folder: string
  /** Of its task, its adapter and its account. */
  readonly name: string
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'

/** @param adapt what else is the test's own, such as the URL of a cloud */
export const deliver = async (
  { plane, namespace, accounts, url }: AdapterWorld,
  { folder, name }: Delivered,
  adapt: (text: string) => string = (text) => text,
): Promise<void> => {
  const text = (await plane.kubectl('kustomize', folder))
    .replaceAll('hyperfleet-system', namespace)
    .replaceAll('hyperfleet-tasks', accounts)
    .replaceAll(`muster-${name}`, `muster-${name}-${namespace}`)
    .replaceAll(/( +)url: https:.*\.cluster\.local/g, `$1url: ${url}`)
  const paths: Readonly<Record<string, string>> = {
    ServiceAccount: `/api/v1/namespaces/${accounts}/serviceaccounts`,
    ValidatingAdmissionPolicy: `${ADMISSION}/validatingadmissionpolicies`,
    ValidatingAdmissionPolicyBinding: `${ADMISSION}/validatingadmissionpolicybindings`,
    ClusterRole: `${RBAC}/clusterroles`,
    ClusterRoleBinding: `${RBAC}/clusterrolebindings`,
    Role: `${RBAC}/namespaces/${accounts}/roles`,
    RoleBinding: `${RBAC}/namespaces/${accounts}/rolebindings`,
    AdapterTask: `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${namespace}/adaptertasks`,
  }
  for (const manifest of loadAll(adapt(text)) as KubeObject[])
    await plane.rest('POST', paths[manifest.kind] ?? '', manifest)
}

/** As a pool lets the account in beside its cluster: POOL-84. In the namespace of the test when none is named. */
export const letIn = async (
  { plane, namespace, accounts }: AdapterWorld,
  { name }: Delivered,
  place = namespace,
): Promise<void> => {
  const role = `muster-${name}-${namespace}-beside`
  await plane.rest('POST', `${RBAC}/namespaces/${place}/rolebindings`, {
    metadata: { name: role },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace: accounts }],
  })
}

/** On a namespace, as on a record: a pool has made it. */
export const OF_A_POOL = { [POOL_LABELS.uid]: 'a-pool' } as const

/** The namespace of the test passes for one that a pool made. */
export const markAsOfPool = async ({ plane, namespace }: AdapterWorld): Promise<void> => {
  await plane.rest('PATCH', `/api/v1/namespaces/${namespace}`, { metadata: { labels: OF_A_POOL } })
}
