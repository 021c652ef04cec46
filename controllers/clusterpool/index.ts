/**
 * Cluster pools: each keeps so many clusters installed and waiting, and leases the customizations of its inventory to them.
 *
 *   ClusterPool ─► reconcile: observe ─► decide ─► execute ─► status, events, metrics
 *        ▲
 *        └─ woken by its clusters, claims, customizations, namespaces, by the bindings of its admins and of providers, and by the roles of these
 *
 *   pool removed by force ─► lease/orphaned-clusters.ts removes the finalizer of what is left of its clusters,
 *                            lease/orphaned-leases.ts gives its leases back (outside)
 *
 * observe.ts and observe/ read; decide.ts decides without I/O, with decide/, inventory/, lease/ and cluster/ (what a cluster is made of);
 * execute.ts and execute/ write. model/ has the plain types.
 * Why so: docs/decisions/pool-plan.md.
 */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS, PROVIDER_ROLE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { ClusterRole, Namespace, RoleBinding } from '#apis/kubernetes.ts'
import { type Controller, controller, type KubeObject } from '#operator/index.ts'
import { keyOf } from '#operator/model/resource.ts'
import { ADMIN_ROLE } from './decide/admin-bindings.ts'
import { leaseOnlyEntries, releaseOrphanedClusters } from './lease/orphaned-clusters.ts'
import { leasedEntries, releaseOrphanedLeases } from './lease/orphaned-leases.ts'
import { createMetrics, forgetPool } from './metrics.ts'
import { customizationNames, indexCaches, trimUnrelatedBinding } from './observe/indexes.ts'
import type { ClusterPoolOptions } from './options.ts'
import { reconcile } from './reconcile.ts'

export const clusterPool = ({
  clock,
  registry,
  podSecurity = 'restricted',
  podNetwork = 'closed',
  ...settings
}: ClusterPoolOptions): Controller<ClusterPool> => {
  const pools = controller(ClusterPool, { name: 'clusterpool' })
  const metrics = createMetrics(registry)

  const byNamespace = pools.index('namespace', (pool) => [[pool.metadata.namespace, pool.metadata]])
  const byCustomization = pools.index('customization', (pool) =>
    customizationNames(pool).map((name) => [`${pool.metadata.namespace}/${name}`, pool.metadata]),
  )
  const all = pools.index('all', ({ metadata }) => [['all', metadata]])
  const byUid = pools.index('uid', ({ metadata }) => [[metadata.uid, metadata]])
  const poolOf = ({ metadata: { labels } }: KubeObject) => byUid.get(labels?.[POOL_LABELS.uid] ?? '')

  const clusters = pools.watches(
    ClusterDeployment,
    ({ spec: { clusterPoolRef: pool } }) => (pool === undefined ? [] : [{ ...pool, name: pool.poolName }]),
    // Each cluster lives in a namespace of its own.
    { everywhere: true },
  )
  const claims = pools.watches(ClusterClaim, ({ spec }) => [{ name: spec.clusterPoolName }])
  const customizations = pools.watches(ClusterDeploymentCustomization, ({ metadata, status }) => [
    ...byCustomization.get(`${metadata.namespace}/${metadata.name}`),
    ...(status?.clusterPoolRef === undefined ? [] : [status.clusterPoolRef]),
  ])
  const namespaces = pools.watches(Namespace, poolOf, { labelSelector: POOL_LABELS.uid })
  const bindings = pools.watches(
    RoleBinding,
    (binding) => [
      ...poolOf(binding),
      ...(binding.roleRef.name === ADMIN_ROLE ? byNamespace.get(binding.metadata.namespace) : []),
    ],
    { everywhere: true, transform: trimUnrelatedBinding },
  )

  // Any of its clusters may have the label of any provider.
  const roles = pools.watches(ClusterRole, () => all.get('all'), { labelSelector: PROVIDER_ROLE_LABEL })

  const indexes = indexCaches({ clusters, claims, customizations, namespaces, bindings, roles })

  pools.reconcile(reconcile({ clock, metrics, indexes, podSecurity, podNetwork, ...settings }))
  const orphans = clusters.index('only-leased', leaseOnlyEntries)
  const leases = customizations.index('leased', leasedEntries)
  const byName = pools.index('name', (pool) => [[keyOf(pool.metadata), pool]])
  pools.source('orphans', async (context) => {
    await Promise.all([
      releaseOrphanedClusters(orphans, context),
      releaseOrphanedLeases(
        { leases, pools: byName, clusters: indexes.cluster, namespaces: indexes.namespace },
        context,
      ),
    ])
  })
  pools.on.event('forget', ({ type, object }) => {
    if (type === 'deleted') forgetPool(metrics, object)
  })

  return pools
}
