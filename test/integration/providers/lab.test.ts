/** The pool that comes with the provider `local`, as it is delivered: what each of its customizations makes of a real cluster. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { adminKubeconfigName } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startControlPlane } from '#test/harness/index.ts'
import { type WholeWorld, wholeWorld } from './whole-world.ts'
import { clientOf, PATIENCE, type ServiceWorld, serviceWorld, TOKEN } from './world.ts'

vi.setConfig({ testTimeout: 240_000 })

const HIVE = '/apis/hive.openshift.io/v1'
const SIZE = 3

let stack: AsyncDisposableStack
let service: ServiceWorld
let world: WholeWorld

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  service = stack.use(await serviceWorld(SIZE))
  const plane = stack.use(await startControlPlane())
  world = stack.use(await wholeWorld({ plane, adapter: 'cluster-local', accountsApart: false }))
  const secrets = await temporaryFolder('provider')
  await writeFile(join(secrets, 'token'), TOKEN, { mode: 0o600 })
  await world.applyFolder('kustomize/providers/local', (text) =>
    text.replaceAll('http://127.0.0.1:8470', service.url).replaceAll('/var/run/secrets/local-clusters', secrets),
  )
  await world.startManagers({ adapter: { files: [secrets], httpTargets: [service.url] } })
})

afterAll(() => stack?.disposeAsync())

test('CLUSTER-80: of lab, lima has its Services in 10.11.0.0/24, lisbon in 10.12.0.0/24, london in 10.13.0.0/24 and the feature MutablePVNodeAffinity; lisbon is in another domain', async () => {
  // All of them, and awake; else it is as it is delivered.
  await world.applyFolder('kustomize/providers/local/pool', (text) =>
    text
      .replace(/maxSize: \d/, `maxSize: ${SIZE}`)
      .replace(/runningCount: \d/, `runningCount: ${SIZE}`)
      .replace(/\bsize: \d/, `size: ${SIZE}`),
  )
  const running = await vi.waitFor(async () => {
    const { items } = await world.plane.rest<{ items: ClusterDeployment[] }>('GET', `${HIVE}/clusterdeployments`)
    const ready = items.filter((one) => one.status?.powerState === 'Running' && adminKubeconfigName(one) !== undefined)
    expect(ready).toHaveLength(SIZE)
    return ready
  }, PATIENCE)
  const seen = await Promise.all(running.map(async (one) => [one.spec.clusterName, await visibleIn(one)] as const))
  expect(Object.fromEntries(seen)).toEqual({
    lima: { domain: 'lima.example.com', address: '10.11.0.1', feature: false },
    lisbon: { domain: 'lisbon.example.org', address: '10.12.0.1', feature: false },
    london: { domain: 'london.example.com', address: '10.13.0.1', feature: true },
  })
})

/** What a user of the cluster sees of its customization: what its kubeconfig calls it, the address of the Service kubernetes, and whether the feature is on. */
const visibleIn = async (deployment: ClusterDeployment) => {
  const secret = `/api/v1/namespaces/${deployment.metadata.namespace}/secrets/${adminKubeconfigName(deployment)}`
  const { data } = await world.plane.rest<{ data: { kubeconfig: string } }>('GET', secret)
  const kubernetes = { name: 'kubernetes', namespace: 'default' }
  const { spec } = await clientOf(data.kubeconfig).readNamespacedService(kubernetes)
  const metrics = await rawGet(data.kubeconfig, '/metrics')
  const [, enabled] = /kubernetes_feature_enabled\{name="MutablePVNodeAffinity"[^}]*\} (\d)/.exec(metrics) ?? []
  return { domain: configOf(data.kubeconfig).getCurrentContext(), address: spec?.clusterIP, feature: enabled === '1' }
}

/** @param kubeconfig base64 */
const configOf = (kubeconfig: string): KubeConfig => {
  const config = new KubeConfig()
  config.loadFromString(Buffer.from(kubeconfig, 'base64').toString())
  return config
}

/** @param kubeconfig base64 */
const rawGet = async (kubeconfig: string, path: string): Promise<string> => {
  const config = configOf(kubeconfig)
  const [cluster, user] = [config.getCurrentCluster(), config.getCurrentUser()]
  const pem = (text: string | undefined) => Buffer.from(text ?? '', 'base64')
  const dispatcher = new Agent({
    connect: { ca: pem(cluster?.caData), cert: pem(user?.certData), key: pem(user?.keyData) },
  })
  const { body } = await request(`${cluster?.server}${path}`, { dispatcher })
  const text = await body.text()
  await dispatcher.close()
  return text
}
