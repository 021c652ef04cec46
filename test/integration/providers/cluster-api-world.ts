/** What the test of the provider `cluster-api` stands on: Cluster API's managers, and those of pools, claims, clusters, tasks and pulses, on one control plane. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { clusterClaim } from '#controllers/clusterclaim/index.ts'
import { clusterDeployment } from '#controllers/clusterdeployment/index.ts'
import { clusterPool } from '#controllers/clusterpool/index.ts'
import { sentinel } from '#controllers/sentinel/index.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { systemClock } from '#operator/index.ts'
import { type ClusterApi, startClusterApi } from '#test/harness/cluster-api.ts'
import { recorder, runOperator, startControlPlane } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld } from '../adapter/world.ts'

export interface ClusterApiWorld extends AdapterWorld {
  readonly clusterApi: ClusterApi
  /** Applies a folder of kustomize/ in the namespace of the test. */
  applyFolder(folder: string): Promise<void>
  apply(text: string): Promise<void>
  /** What the managers logged. */
  readonly lines: readonly string[]
}

/** Without which no cluster is Ready. */
const ADAPTER = 'cluster-api'

const SENTINEL = (namespace: string) => `
apiVersion: hyperfleet.redhat.com/v1alpha1
kind: SentinelConfig
metadata: {name: clusters, namespace: ${namespace}}
spec: {resourceType: clusters, backoffNotReady: 2s, backoffReady: 30s, pollInterval: 500ms}
`

export const clusterApiWorld = async (): Promise<ClusterApiWorld> => {
  await using stack = new AsyncDisposableStack()
  const plane = stack.use(await startControlPlane())
  const clusterApi = stack.use(await startClusterApi(plane))
  const cluster = { kind: 'Cluster', plural: 'clusters', required_adapters: [ADAPTER] }
  const world = stack.use(await adapterWorld({ accountsApart: true, plane, entities: [cluster] }))
  const { namespace, url } = world
  const scratch = await temporaryFolder('cluster-api-test')
  const lines: string[] = []

  const apply = async (text: string): Promise<void> => {
    const file = join(scratch, 'manifests.yaml')
    await writeFile(file, text)
    await plane.kubectl('apply', '--server-side', '-f', file)
  }
  const applyFolder = async (folder: string): Promise<void> => {
    const text = await plane.kubectl('kustomize', folder)
    await apply(
      text
        .replaceAll('hyperfleet-system', namespace)
        .replaceAll('hyperfleet-tasks', world.accounts)
        .replaceAll(/( +)url: http:.*:8080/g, `$1url: ${world.url}`),
    )
  }

  const options = { clock: systemClock, version: 'test', hyperfleetApiUrl: url }
  const controllers = [
    clusterPool({ clock: systemClock, registry: new Registry() }),
    clusterClaim(),
    clusterDeployment({ ...options, registry: new Registry() }),
    sentinel({ ...options, identity: 'test', registry: new Registry() }),
  ]
  const manager = await runOperator(plane.kubeconfig, { controllers, log: recorder(lines) })
  stack.defer(() => manager.stop())
  await manager.ready
  await apply(SENTINEL(namespace))
  await world.manager()
  const own = stack.move()
  return { ...world, clusterApi, apply, applyFolder, lines, [Symbol.asyncDispose]: () => own.disposeAsync() }
}
