/** What adapter tasks are measured on: the API, a Sentinel that can be begun later, the adapters, and two tasks in a cluster. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load as parseYaml } from 'js-yaml'
import { request } from 'undici'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { freePort } from '#hack/process/ports.ts'
import { apiVersionOf, type KubeObject, pathOf } from '#operator/model/resource.ts'
import { moment } from '../load/moment.ts'
import { type MusterProcess, type Start, startManager } from '../program.ts'
import { installKind } from '../sentinel/config.ts'
import { startApi, startSentinel } from '../sentinel/processes.ts'
import type { Stage } from '../stage.ts'

const CRDS = join(import.meta.dirname, '../../../manifests/crds')
const KINDS = [
  ['adaptertasks', AdapterTask],
  ['adapterinventories', AdapterInventory],
] as const
const NAMESPACE = 'default'
const DEADLINE_MS = 120_000

/** What a task makes for each cluster: a Namespace with a ConfigMap in it, or two ConfigMaps in a namespace that is there. */
export const SHAPES = ['namespace', 'flat'] as const
export type Shape = (typeof SHAPES)[number]

export interface Ground extends AsyncDisposable {
  readonly api: MusterProcess
  readonly adapter: MusterProcess
  /** From now on resources are pulsed. */
  pulse(): Promise<void>
  /** Runs of all tasks so far. */
  runs(): Promise<number>
  /** Requests of the adapters to the API server so far. */
  requests(): Promise<number>
}

/** @param options of the adapters' process */
export const openGround = async (stage: Stage, options: Pick<Start, 'prefix'> = {}): Promise<Ground> => {
  await using stack = new AsyncDisposableStack()
  const api = stack.use(await startApi(stage))
  for (const [plural, kind] of KINDS) {
    const definition = await readFile(join(CRDS, `hyperfleet.redhat.com_${plural}.yaml`), 'utf8')
    await stage.install(parseYaml(definition) as object, kind)
  }
  await installKind(stage)
  await grantEverything(stage)
  const metrics = await freePort()
  const adapter = stack.use(await startAdapter(stage, metrics, api.url, options))
  for (const shape of SHAPES) {
    await stage.server.request('POST', pathOf(AdapterTask, { namespace: NAMESPACE }), taskOf(shape, api.url))
    await untilReady(stage, shape)
  }
  const all = stack.move()
  return {
    api,
    adapter,
    async pulse() {
      await stage.server.request('POST', pathOf(SentinelConfig, { namespace: NAMESPACE }), {
        apiVersion: apiVersionOf(SentinelConfig),
        kind: SentinelConfig.kind,
        metadata: { name: 'bench' },
        spec: { resourceType: 'clusters', hyperfleetAPI: { url: api.url } },
      })
      all.use(await startSentinel(stage, { api: api.url }))
    },
    runs: () => sumOf(metrics, 'hyperfleet_adapter_events_processed_total'),
    requests: () => sumOf(metrics, 'rest_client_requests_total'),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** Of all series of a counter. */
const sumOf = async (port: number, name: string): Promise<number> => {
  const { body } = await request(`http://127.0.0.1:${port}/metrics`)
  const counts = (await body.text()).matchAll(new RegExp(`^${name}\\{.*\\} (\\d+)$`, 'gm'))
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

const startAdapter = (
  stage: Stage,
  metrics: number,
  apiUrl: string,
  options: Pick<Start, 'prefix'>,
): Promise<MusterProcess> =>
  startManager(stage, {
    controllers: 'adapter',
    flags: [`--hyperfleet-api-url=${apiUrl}`],
    metrics,
    deployedAs: 'adapter',
    ...options,
  })

/** The account that both tasks act as. */
const grantEverything = async ({ server }: Stage): Promise<void> => {
  await server.request('POST', `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: 'bench' } })
  await server.request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'bench' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'bench', namespace: NAMESPACE }],
  })
}

const taskOf = (shape: Shape, url: string): object => ({
  apiVersion: apiVersionOf(AdapterTask),
  kind: AdapterTask.kind,
  metadata: { name: shape },
  spec: {
    adapter: { name: shape },
    resourceType: 'clusters',
    selector: { matchLabels: { shape } },
    hyperfleetAPI: { url },
    serviceAccountName: 'bench',
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: shape === 'namespace' ? [NAMESPACE_OF_ITS_OWN, configMap('config', 'c-{{ .clusterId }}')] : FLAT,
  },
})

const NAMESPACE_OF_ITS_OWN = {
  name: 'namespace',
  manifest: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'c-{{ .clusterId }}' } },
  discovery: { by_name: 'c-{{ .clusterId }}' },
}

const configMap = (name: string, namespace: string) => ({
  name,
  manifest: {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-{{ .clusterId }}`, namespace },
    data: { name: '{{ .resource.name }}', generation: '{{ .resource.generation }}' },
  },
  discovery: { namespace, by_name: `${name}-{{ .clusterId }}` },
})

const FLAT = [configMap('first', NAMESPACE), configMap('second', NAMESPACE)]

const untilReady = async ({ server }: Stage, name: string): Promise<void> => {
  const deadline = moment() + DEADLINE_MS
  for (;;) {
    const task = (await server.request('GET', pathOf(AdapterTask, { namespace: NAMESPACE, name }))) as KubeObject<
      unknown,
      { conditions?: readonly { type: string; status: string; message?: string }[] }
    >
    const ready = task.status?.conditions?.find(({ type }) => type === 'Ready')
    if (ready?.status === 'True') return
    if (moment() > deadline) throw new Error(`the task ${name} is not ready: ${ready?.message ?? 'it says nothing'}`)
    await sleep(100)
  }
}
