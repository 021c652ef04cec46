/** What pools are measured on: their kinds in an API server, and managers of pools and claims as processes. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load as parseYaml } from 'js-yaml'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { apiVersionOf, type ObjectMeta, pathOf } from '#operator/model/resource.ts'
import { aCluster, aPool } from '#test/worlds/clusterpool/builders.ts'
import { inParallel, upTo } from '../in-parallel.ts'
import { type MusterProcess, type Start, startManager } from '../program.ts'
import type { Stage } from '../stage.ts'

const CRDS = join(import.meta.dirname, '../../../manifests/crds')
const IN_FLIGHT = 16
const KINDS = [ClusterPool, ClusterClaim, ClusterDeployment, ClusterDeploymentCustomization]

export const installKinds = async (stage: Stage): Promise<void> => {
  for (const kind of KINDS) {
    const text = await readFile(join(CRDS, `${kind.group}_${kind.plural}.yaml`), 'utf8')
    await stage.install(parseYaml(text) as object, kind)
  }
}

/** A manager of pools and claims, for all namespaces. */
export const startPools = (stage: Stage, options: Pick<Start, 'prefix'> = {}): Promise<MusterProcess> =>
  startManager(stage, { controllers: 'clusterpool,clusterclaim', deployedAs: 'clusterpool', ...options })

/** A manager of ClusterDeployments, which registers them. */
export const startClusterDeployments = (
  stage: Stage,
  apiUrl: string,
  options: Pick<Start, 'prefix'> = {},
): Promise<MusterProcess> =>
  startManager(stage, {
    controllers: 'clusterdeployment',
    flags: [`--hyperfleet-api-url=${apiUrl}`],
    deployedAs: 'clusterdeployment',
    ...options,
  })

/** ClusterDeployments of a pool that is not there: pools and claims do nothing about them. */
export const createCrowd = (stage: Stage, count: number): Promise<void> =>
  createDeployments(stage, count, aCluster('any', { pool: aPool({ name: 'none' }), customization: 'any' }))

/** ClusterDeployments of no pool, as people make them: each is to be registered. */
export const createAlone = (stage: Stage, count: number): Promise<void> => {
  const { clusterPoolRef: _, installed: __, ...spec } = aCluster('any', {}).spec
  return createDeployments(stage, count, { metadata: {}, spec })
}

const createDeployments = async (
  { server }: Stage,
  count: number,
  { metadata, spec }: { readonly metadata: Partial<ObjectMeta>; readonly spec: object },
): Promise<void> => {
  await inParallel(upTo(count), IN_FLIGHT, (index) =>
    server.request('POST', pathOf(ClusterDeployment, { namespace: 'default' }), {
      apiVersion: apiVersionOf(ClusterDeployment),
      kind: ClusterDeployment.kind,
      metadata: { name: `crowd-${index}`, annotations: metadata.annotations, finalizers: metadata.finalizers },
      spec: { ...spec, clusterName: `crowd-${index}` },
    }),
  )
}
