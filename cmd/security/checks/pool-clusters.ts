/** What says that it is a pool's, and is not: policies refuse it today, and it may be older than they are. SECURITY-27. */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { isMadeByPool } from '#controllers/clusterpool/cluster/namespace-origin.ts'
import { LINES } from '../lines.ts'
import { type Check, defineCheck, isOfCluster, nameOf } from '../model.ts'

/** Of each kind so many are named. */
const MAX_NAMED = 5

/** Namespaces with the uid of a pool that is there, which no pool made. Those from a backup carry the uid of an earlier one. */
const poolNamespaces = defineCheck('pool-namespaces', ['Namespace', 'ClusterPool'], (objects) => {
  const pools = new Map(objects.ClusterPool.map(({ metadata }) => [metadata.uid, metadata]))
  return objects.Namespace.filter(isOfCluster)
    .flatMap((namespace) => {
      const pool = pools.get(namespace.metadata.labels?.[POOL_LABELS.uid] ?? '')
      return pool === undefined || isMadeByPool(namespace) ? [] : [{ name: namespace.metadata.name, pool }]
    })
    .slice(0, MAX_NAMED)
    .map(({ name, pool }) => ({
      line: LINES.poolNamespaces,
      where: nameOf('Namespace', { name }),
      what: `it carries the label ${POOL_LABELS.uid} of ${nameOf('ClusterPool', pool)}, which did not make it`,
      todo: `take the label off: kubectl label namespace ${name} ${POOL_LABELS.uid}-`,
    }))
})

/** ClusterDeployments that name a pool and are in none of the namespaces of its clusters: pools leave them alone. POOL-104. */
const poolClusters = defineCheck('pool-clusters', ['Namespace', 'ClusterPool', 'ClusterDeployment'], (objects) => {
  const uids = new Map(
    objects.ClusterPool.map(({ metadata }) => [keyOf(metadata.namespace, metadata.name), metadata.uid]),
  )
  const labels = new Map(objects.Namespace.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]))
  const isElsewhere = ({ metadata, spec: { clusterPoolRef } }: ClusterDeployment): boolean => {
    if (clusterPoolRef === undefined) return false
    const of = labels.get(metadata.namespace ?? '') ?? {}
    const { namespace, poolName } = clusterPoolRef
    if (of[POOL_LABELS.uid] === undefined) return true
    const isNamed = of[POOL_LABELS.namespace] === namespace && (of[POOL_LABELS.name] ?? poolName) === poolName
    return !isNamed && of[POOL_LABELS.uid] !== uids.get(keyOf(namespace, poolName))
  }
  return objects.ClusterDeployment.filter(isElsewhere)
    .slice(0, MAX_NAMED)
    .map(({ metadata, spec: { clusterPoolRef } }) => ({
      line: LINES.pools,
      where: nameOf('ClusterDeployment', metadata),
      what: `it names ${nameOf('ClusterPool', { namespace: clusterPoolRef?.namespace ?? '', name: clusterPoolRef?.poolName ?? '' })}, in whose namespaces it is not: no pool looks after it`,
      todo: 'delete it, or take spec.clusterPoolRef out; where it is from a backup, give its namespace the labels that it had there',
    }))
})

export const poolChecks: readonly Check[] = [poolNamespaces, poolClusters]

const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`
