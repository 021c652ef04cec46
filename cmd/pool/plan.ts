import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS, PROVIDER_ROLE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { ClusterRole, Namespace, RoleBinding } from '#apis/kubernetes.ts'
import { applyBrake, createBrake, knownAbsentClaims } from '#controllers/clusterpool/decide/brake.ts'
import { findInferredDeletions } from '#controllers/clusterpool/decide/inferred-deletions.ts'
import { decide } from '#controllers/clusterpool/decide.ts'
import { explain, explainText } from '#controllers/clusterpool/explain.ts'
import { toObserved } from '#controllers/clusterpool/model/observed.ts'
import { readDependencies } from '#controllers/clusterpool/observe/dependencies.ts'
import { type Indexable, indexCaches, type PoolIndexes } from '#controllers/clusterpool/observe/indexes.ts'
import { noRejections } from '#controllers/clusterpool/observe/rejections.ts'
import { WriteCache } from '#controllers/clusterpool/observe/write-cache.ts'
import { type ObserveSources, readPoolObjects } from '#controllers/clusterpool/observe.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { createStore } from '#operator/client/store.ts'
import type { KubeObject, Resource } from '#operator/index.ts'
import { keyOf } from '#operator/model/resource.ts'
import { Failure } from '../failure.ts'
import { withApiServer } from '../with-api-server.ts'

export interface PlanOptions {
  readonly name: string
  readonly namespace: string
  readonly output: 'text' | 'json'
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
}

/**
 * What the controller would do next with a pool, and why, as text or JSON. Reads only.
 * @throws Failure when there is no such pool, LookFailure when the API server does not answer or refuses
 */
export const planOf = async ({ name, namespace, output, ...access }: PlanOptions): Promise<string> =>
  withApiServer(access, async (transport) => {
    const plan = await readPlan(createApi(transport), name, namespace)
    return output === 'text' ? explainText(plan) : `${JSON.stringify(explain(plan), undefined, 2)}\n`
  })

const readPlan = async (api: Api, name: string, namespace: string) => {
  const pool = await api.get(ClusterPool, name, namespace)
  if (pool === undefined)
    throw new Failure(
      `there is no ClusterPool ${name} in namespace ${namespace}: name another one, or its namespace with --namespace`,
    )
  const now = new Date()
  const dependencies = await readDependencies(api, pool, now.getTime())
  const indexes = await listed(api, pool)
  const reading: ObserveSources = {
    api,
    indexes,
    writeCache: new WriteCache(),
    rejections: noRejections(),
    unfinishedClusters: new Map(),
    absentClaims: knownAbsentClaims(pool, indexes.clustersOfPool.get(keyOf(pool.metadata))),
    usedNamespaces: new Set(),
    now,
  }
  let count = 0
  // Which name a new cluster would get is left to chance; here it is only told apart.
  const suffix = () => {
    count += 1
    return `new${count}`
  }
  const observed = toObserved(await readPoolObjects(pool, dependencies, reading))
  const inferred = findInferredDeletions(observed, now)
  const braked = applyBrake(observed, inferred, createBrake(pool, now.getTime()), now.getTime(), indexes.askedClusters)
  return decide({ ...observed, ...braked }, { now, suffix })
}

/** The same lookups as the controller's, over lists that are read once. */
const listed = async (api: Api, { metadata: { namespace } }: ClusterPool): Promise<PoolIndexes> => {
  return indexCaches({
    clusters: await listedOf(api, ClusterDeployment, {}),
    claims: await listedOf(api, ClusterClaim, { namespace }),
    customizations: await listedOf(api, ClusterDeploymentCustomization, { namespace }),
    namespaces: await listedOf(api, Namespace, { labelSelector: POOL_LABELS.uid }),
    bindings: await listedOf(api, RoleBinding, {}),
    roles: await listedOf(api, ClusterRole, { labelSelector: PROVIDER_ROLE_LABEL }),
  })
}

const listedOf = async <O extends KubeObject>(
  api: Api,
  resource: Resource<O>,
  where: { readonly namespace?: string | undefined; readonly labelSelector?: string },
): Promise<Indexable<O>> => {
  const store = createStore<O>()
  for await (const object of api.list(resource, where)) store.set(object)
  return { index: (_name, of) => store.index(of) }
}
