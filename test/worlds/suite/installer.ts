/** What installs the clusters of the day: a Sentinel, and three adapters. Times are a tenth of the samples'. */
import { dump } from 'js-yaml'
import { readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { TASK_ACCOUNTS } from '#hack/muster/managers.ts'
import type { ControlPlane } from '#test/harness/index.ts'
import type { Manifest, Suite } from '#test/harness/suite.ts'
import { ADMIN_SECRET, REGION, REMOTE } from './declared.ts'

/** Ten seconds of the simulated day pass in one. */
export const HASTE = 10

/** An event that a killed adapter had comes back after a tenth of the time. */
export const hurried = (manifest: Manifest): Manifest =>
  manifest.kind === 'AdapterTask'
    ? { ...manifest, spec: { ...manifest.spec, events: { visibility: `${30 / HASTE}s` } } }
    : manifest

/** As kustomize/shards, with a tenth of the backoffs. */
export const sentinel = (namespace: string): Manifest => ({
  apiVersion: 'hyperfleet.redhat.com/v1alpha1',
  kind: 'SentinelConfig',
  metadata: { name: 'day', namespace },
  spec: {
    resourceType: 'clusters',
    backoffNotReady: `${10 / HASTE}s`,
    backoffReady: `${1_800 / HASTE}s`,
    shardSelector: { matchLabels: { region: REGION } },
    pollInterval: `${5_000 / HASTE}ms`,
  },
})

const ACCESS = 'cluster-access'

/**
 * Puts the admin's kubeconfig beside each ClusterDeployment, as an installer does.
 * @param name of the adapter whose reports these are, and so of the task's account
 */
export const access = (namespace: string, kubeconfig: object, name = ACCESS): readonly Manifest[] =>
  [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: TASK_ACCOUNTS } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name },
      rules: [
        { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: TASK_ACCOUNTS }],
    },
    {
      apiVersion: 'hyperfleet.redhat.com/v1alpha1',
      kind: 'AdapterTask',
      metadata: { name, namespace },
      spec: {
        adapter: { name },
        resourceType: 'clusters',
        serviceAccountName: name,
        params: [{ name: 'home', source: 'resource.spec.clusterDeployment.namespace', required: true }],
        resources: [
          {
            name: 'admin',
            manifest: {
              apiVersion: 'v1',
              kind: 'Secret',
              metadata: { name: ADMIN_SECRET, namespace: '{{ .home }}' },
              data: { kubeconfig: Buffer.from(dump(kubeconfig)).toString('base64') },
            },
            discovery: { namespace: '{{ .home }}', by_name: ADMIN_SECRET },
          },
        ],
      },
    },
  ] satisfies readonly object[] as readonly Manifest[]

/** A user that may write workloads in "the clusters", and nothing else. */
export const remoteAdmin: readonly Manifest[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: REMOTE } },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'admin', namespace: REMOTE } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'admin', namespace: REMOTE },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'admin', namespace: REMOTE },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'admin', namespace: REMOTE }],
  },
] satisfies readonly object[] as unknown as readonly Manifest[]

/** Applies all of it to a suite that runs. */
export const install = async (suite: Suite, cluster: ControlPlane): Promise<void> => {
  await suite.apply(remoteAdmin)
  const remote = await readKubeconfig(await cluster.kubeconfigFor('admin', REMOTE))
  const tasks = await Promise.all(
    ['cluster-config', 'cluster-validation'].map((task) => suite.render(`samples/tasks/${task}`)),
  )
  await suite.apply([sentinel(suite.namespace), ...tasks.flat(), ...access(suite.namespace, remote)].map(hurried))
}
