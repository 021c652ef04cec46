/** What a pass of a pool looks up, of lists that stay as they are. */
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { Namespace } from '#apis/kubernetes.ts'
import { type Indexable, indexCaches, type PoolIndexes } from '#controllers/clusterpool/observe/indexes.ts'
import { noRejections } from '#controllers/clusterpool/observe/rejections.ts'
import { WriteCache } from '#controllers/clusterpool/observe/write-cache.ts'
import type { ObserveSources } from '#controllers/clusterpool/observe.ts'
import type { Api } from '#operator/index.ts'

interface Lists {
  readonly clusters: readonly ClusterDeployment[]
  readonly customizations: readonly ClusterDeploymentCustomization[]
  readonly namespaces: readonly Namespace[]
  readonly claims?: readonly ClusterClaim[]
}

/** Of pools without providers. */
export const indexLists = ({ clusters, customizations, namespaces, claims = [] }: Lists): PoolIndexes =>
  indexCaches({
    clusters: listed(clusters),
    customizations: listed(customizations),
    namespaces: listed(namespaces),
    claims: listed(claims),
    bindings: listed([]),
    roles: listed([]),
  })

const listed = <O>(objects: readonly O[]): Indexable<O> => ({
  index: <V>(_name: string, of: (object: O) => Iterable<readonly [string, V]>) => {
    const found = Map.groupBy(
      objects.flatMap((object) => [...of(object)]),
      ([key]) => key,
    )
    const values = new Map([...found].map(([key, entries]) => [key, entries.map(([, value]) => value)]))
    return { get: (key: string) => values.get(key) ?? [] }
  },
})

/** Of a manager that has just begun. */
export const firstSources = (api: Api, indexes: PoolIndexes, now: Date): ObserveSources => ({
  api,
  indexes,
  writeCache: new WriteCache(),
  rejections: noRejections(),
  unfinishedClusters: new Map(),
  absentClaims: new Map(),
  usedNamespaces: new Set(),
  now,
})
