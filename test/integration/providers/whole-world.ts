/** What tests of a provider stand on that begin with a pool: managers of pools, claims, clusters, tasks and pulses, on one control plane. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import type { AdapterOptions } from '#controllers/adapter/options.ts'
import { clusterClaim } from '#controllers/clusterclaim/index.ts'
import { clusterDeployment } from '#controllers/clusterdeployment/index.ts'
import { clusterPool } from '#controllers/clusterpool/index.ts'
import { sentinel } from '#controllers/sentinel/index.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type Clock, systemClock } from '#operator/index.ts'
import { type OwnControlPlane, recorder, runOperator } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld } from '../adapter/world.ts'

export interface WholeWorld extends AdapterWorld {
  /** Applies a folder of kustomize/ in the namespace of the test. @param adapted for what else is another one here */
  applyFolder(folder: string, adapted?: (text: string) => string): Promise<void>
  apply(text: string): Promise<void>
  /** All managers, in this process. @param options.clock of pools and of their clusters */
  startManagers(options?: { readonly clock?: Clock; readonly adapter?: Partial<AdapterOptions> }): Promise<void>
  /** What the managers logged. */
  readonly lines: readonly string[]
}

export interface WholeWorldOptions {
  readonly plane: OwnControlPlane
  /** Without which no cluster is Ready. */
  readonly adapter: string
  /** As AdapterWorldOptions have it. */
  readonly accountsApart: boolean
  /** Between two pulses of a cluster that is Ready. */
  readonly backoffReady?: string
}

const SENTINEL = (namespace: string, backoffReady: string) => `
apiVersion: hyperfleet.redhat.com/v1alpha1
kind: SentinelConfig
metadata: {name: clusters, namespace: ${namespace}}
spec: {resourceType: clusters, backoffNotReady: 2s, backoffReady: ${backoffReady}, pollInterval: 500ms}
`

export const wholeWorld = async ({
  plane,
  adapter,
  accountsApart,
  backoffReady = '30s',
}: WholeWorldOptions): Promise<WholeWorld> => {
  await using stack = new AsyncDisposableStack()
  const cluster = { kind: 'Cluster', plural: 'clusters', required_adapters: [adapter] }
  const world = stack.use(await adapterWorld({ accountsApart, plane, entities: [cluster] }))
  const { namespace, url } = world
  const scratch = await temporaryFolder('provider-test')
  const lines: string[] = []

  const apply = async (text: string): Promise<void> => {
    const file = join(scratch, 'manifests.yaml')
    await writeFile(file, text)
    await plane.kubectl('apply', '--server-side', '-f', file)
  }
  await apply(SENTINEL(namespace, backoffReady))
  const running = stack.use(new AsyncDisposableStack())
  const own = stack.move()
  return {
    ...world,
    apply,
    async applyFolder(folder, adapted = (text) => text) {
      const text = await plane.kubectl('kustomize', folder)
      await apply(
        adapted(
          text
            .replaceAll('hyperfleet-system', namespace)
            .replaceAll('hyperfleet-tasks', world.accounts)
            .replaceAll(/( +)url: https:.*\.cluster\.local/g, `$1url: ${url}`),
        ),
      )
    },
    async startManagers({ clock = systemClock, adapter: deps } = {}) {
      const options = { version: 'test', hyperfleetApiUrl: url }
      const sent = sentinel({
        ...options,
        collectGarbage: () => undefined,
        clock: systemClock,
        identity: 'test',
        registry: new Registry(),
      })
      const byClock = [
        clusterPool({ clock, registry: new Registry() }),
        clusterClaim(),
        clusterDeployment({ ...options, clock, registry: new Registry() }),
      ]
      const log = recorder(lines)
      const managers = [
        // By whatever clock, a quiet watch is left in peace.
        await runOperator(plane.kubeconfig, {
          controllers: byClock,
          clock,
          log,
          settings: { watching: { inactivityTimeout: '10h' } },
        }),
        await runOperator(plane.kubeconfig, { controllers: [sent], log }),
      ]
      for (const manager of managers) running.defer(() => manager.stop())
      await Promise.all(managers.map(({ ready }) => ready))
      await world.manager(undefined, deps)
    },
    lines,
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}
