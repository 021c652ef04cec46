/** Resources that only the HyperFleet API has, and an adapter that applies a ConfigMap for each: as many as a brake holds cost little. */
import { TASK_ACCOUNTS, TASK_WORK } from '#hack/muster/managers.ts'
import type { Manifest, Suite } from '#test/harness/suite.ts'
import { REGION } from '#test/worlds/suite/declared.ts'
import { hurried, sentinel } from '#test/worlds/suite/installer.ts'

const NAME = 'node-pools'

/** A task is known to the API by its account, whose name is the adapter's. It may do what that of the sample task `cluster-config` may. */
export const installNodePools = async (suite: Suite): Promise<void> => {
  const { namespace } = suite
  const one = 'node-pool-{{ .nodePoolId }}'
  const task = {
    apiVersion: 'hyperfleet.redhat.com/v1alpha1',
    kind: 'AdapterTask',
    metadata: { name: NAME, namespace },
    spec: {
      adapter: { name: NAME },
      resourceType: 'nodepools',
      serviceAccountName: NAME,
      params: [{ name: 'nodePoolId', source: 'event.id', required: true }],
      resources: [
        {
          name: 'config',
          manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: one, namespace: TASK_WORK } },
          discovery: { namespace: TASK_WORK, by_name: one },
        },
      ],
    },
  }
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: NAME, namespace: TASK_ACCOUNTS } }
  const rights = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: NAME },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'muster-cluster-config' },
    subjects: [{ kind: 'ServiceAccount', name: NAME, namespace: TASK_ACCOUNTS }],
  }
  const { metadata, spec, ...rest } = sentinel(namespace)
  const watch = { ...rest, metadata: { ...metadata, name: NAME }, spec: { ...spec, resourceType: 'nodepools' } }
  await suite.apply([account, rights, watch, hurried(task as Manifest)])
}

/** @param cluster its id in the HyperFleet API */
export const makeNodePools = async (suite: Suite, cluster: string, count: number): Promise<void> => {
  const path = `/api/hyperfleet/v1/clusters/${cluster}/nodepools`
  for (let index = 0; index < count; index++)
    await suite.call('POST', path, { kind: 'NodePool', name: `pool-${index}`, labels: { region: REGION }, spec: {} })
}
