import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { apiVersionOf, pathOf } from '#operator/model/resource.ts'
import { type MusterProcess, type OwnControlPlane, startControlPlane, startMuster } from '#test/harness/index.ts'

const NAMESPACE = 'hyperfleet-system'

let cluster: OwnControlPlane
let api: MusterProcess
let manager: MusterProcess
let url: string

beforeAll(async () => {
  cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  const base = new URL('../../../kustomize/base', import.meta.url).pathname
  await cluster.kubectl('apply', '--server-side', '-k', base)
  const nowhere = ['--metrics-bind-address=0', '--health-probe-bind-address=0']
  const folder = `--data-dir=${cluster.kubeconfig}.api`
  api = await startMuster(['api', '--bind-address=127.0.0.1:0', folder, ...nowhere])
  url = String((await api.line('the HyperFleet API is serving')).url)
  manager = await startMuster([
    'manager',
    '--controllers=sentinel',
    `--kubeconfig=${await cluster.kubeconfigFor('hyperfleet-sentinel', NAMESPACE)}`,
    `--namespace=${NAMESPACE}`,
    '--config=us-east',
    `--hyperfleet-api-url=${url}`,
    '--metrics-bind-address=127.0.0.1:0',
    '--health-probe-bind-address=127.0.0.1:0',
  ])
  await manager.line('caches are filled')
})

afterAll(async () => {
  await manager?.stop()
  await api?.stop()
  await cluster?.stop()
})

const configure = (name: string, region: string): Promise<SentinelConfig> =>
  cluster.rest('POST', pathOf(SentinelConfig, { namespace: NAMESPACE }), {
    apiVersion: apiVersionOf(SentinelConfig),
    kind: SentinelConfig.kind,
    metadata: { name },
    spec: { resourceType: 'clusters', shardSelector: { matchLabels: { region } }, hyperfleetAPI: { url } },
  })

const createCluster = async (name: string, region: string): Promise<string> => {
  const response = await fetch(`${url}/api/hyperfleet/v1/clusters`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'Cluster', name, labels: { region }, spec: {} }),
  })
  expect(response.status).toBe(201)
  const { id }: { id: string } = JSON.parse(await response.text())
  return id
}

/** A port that a server of the manager told of in its log. */
const portOf = async (line: string): Promise<number> => Number((await manager.line(line)).port)

test('with the rights of its ServiceAccount the manager pulses the cluster of its shard, and only that', async () => {
  await configure('us-west', 'us-west')
  await configure('us-east', 'us-east')
  await createCluster('elsewhere', 'us-west')
  const id = await createCluster('here', 'us-east')
  const pulse = await manager.line('sentinel: pulsed')
  expect(pulse).toMatchObject({ object: `${NAMESPACE}/us-east`, reason: 'New', id })
  expect(manager.log().filter(({ msg, id: pulsed }) => msg === 'sentinel: pulsed' && pulsed !== id)).toEqual([])
})

test('kubectl shows what the Sentinel does', async () => {
  const shown = () => cluster.kubectl('get', 'sentinelconfigs', 'us-east', '--no-headers', `--namespace=${NAMESPACE}`)
  await vi.waitUntil(async () => /region=us-east\s+1\s+1\s+Watch\s+True/.test(await shown()), { timeout: 30_000 })
})

test('metrics and probes are served', async () => {
  const metrics = await fetch(`http://127.0.0.1:${await portOf('serving metrics')}/metrics`)
  expect(await metrics.text()).toContain('hyperfleet_sentinel_events_created_total{shard="region=us-east"')
  const port = await portOf('serving health probes')
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
})

test('a manager is not ready while it asks the API server whether everything is there', async () => {
  await using proxy = await cluster.proxy()
  proxy.decide(() => new Promise(() => undefined))
  await using starting = await startMuster([
    'manager',
    '--controllers=sentinel',
    `--kubeconfig=${proxy.kubeconfig}`,
    '--metrics-bind-address=0',
    '--health-probe-bind-address=127.0.0.1:0',
  ])
  const { port } = await starting.line('serving health probes')
  await vi.waitUntil(() => proxy.requests().length > 0, { timeout: 30_000 })
  const answer = await fetch(`http://127.0.0.1:${String(port)}/readyz`)
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('not begun')])
  expect((await fetch(`http://127.0.0.1:${String(port)}/healthz`)).status).toBe(200)
})

test('SIGTERM ends both with code 0', async () => {
  expect(await manager.stop()).toEqual({ code: 0, signal: null })
  expect(await api.stop()).toEqual({ code: 0, signal: null })
})
