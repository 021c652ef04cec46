/**
 * Cluster claims: a claim has a cluster of its pool for as long as it lives, and the cluster goes with it.
 *
 *   ClusterClaim ─► reconcile: observe ─► decide ─► execute: grant, status, mark the cluster, delete the claim, remove the finalizer
 *        ▲
 *        └─ woken by its pool, its cluster, and what its subjects were granted
 *
 * Which claim gets which cluster, and which waits at which place, is the pool's to decide: controllers/clusterpool.
 */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { Role, RoleBinding } from '#apis/kubernetes.ts'
import { type Controller, controller, type KubeObject } from '#operator/index.ts'
import { keyOf } from '#operator/model/resource.ts'
import { CLAIM_UID_LABEL } from './grants.ts'
import { reconcile } from './reconcile.ts'

export const clusterClaim = (): Controller<ClusterClaim> => {
  const claims = controller(ClusterClaim, { name: 'clusterclaim' })

  const byPool = claims.index('pool', ({ metadata, spec }) => [
    [`${metadata.namespace}/${spec.clusterPoolName}`, metadata],
  ])
  const byCluster = claims.index('cluster', ({ metadata, spec }) =>
    spec.namespace === undefined ? [] : [[spec.namespace, metadata]],
  )
  const byUid = claims.index('uid', ({ metadata }) => [[metadata.uid, metadata]])
  const grantedFor = ({ metadata: { labels } }: KubeObject) => byUid.get(labels?.[CLAIM_UID_LABEL] ?? '')
  const grants = { everywhere: true, labelSelector: CLAIM_UID_LABEL } as const

  const pools = claims.watches(ClusterPool, ({ metadata }) => byPool.get(keyOf(metadata)))
  const clusters = claims.watches(ClusterDeployment, ({ metadata }) => byCluster.get(metadata.namespace ?? ''), {
    everywhere: true,
  })
  const roles = claims.watches(Role, grantedFor, grants)
  const bindings = claims.watches(RoleBinding, grantedFor, grants)

  claims.reconcile(
    reconcile({
      pool: pools.index('pool-by-name', (pool) => [[keyOf(pool.metadata), pool]]),
      clusters: clusters.index('clusters-in-namespace', (cluster) => [[cluster.metadata.namespace ?? '', cluster]]),
      roles: roles.index('roles-in-namespace', (role) => [[role.metadata.namespace ?? '', role]]),
      bindings: bindings.index('bindings-in-namespace', (binding) => [[binding.metadata.namespace ?? '', binding]]),
    }),
  )

  return claims
}
