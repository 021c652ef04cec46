/** The provider `local`, kustomize/providers/local, as it is delivered: from a cluster of the HyperFleet API to a kubeconfig that works. */

import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ClusterView } from '#hack/local-clusters/cluster.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { KubeObject } from '#operator/index.ts'
import { type AdapterWorld, adapterWorld, type Cluster, type Manager } from '../adapter/world.ts'
import { clientOf, namespacesOf, PATIENCE, QUOTA, type ServiceWorld, serviceWorld, TOKEN } from './world.ts'

vi.setConfig({ testTimeout: 240_000 })

const ADAPTER = 'cluster-local'

let service: ServiceWorld
let world: AdapterWorld
let manager: Manager
let front: Awaited<ReturnType<typeof losingFirstPost>>

beforeAll(async () => {
  service = await serviceWorld()
  front = await losingFirstPost(service.url)
  world = await adapterWorld({ accountsApart: true })
  const secrets = await temporaryFolder('provider')
  await writeFile(join(secrets, 'token'), TOKEN, { mode: 0o600 })
  await declareProvider(secrets)
  manager = await world.manager(undefined, { files: [secrets], httpTargets: [front.url] })
  await vi.waitFor(async () => expect(await readiness()).toMatch(/^Working/), PATIENCE)
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await front?.stop()
  await service?.[Symbol.asyncDispose]()
})

/** What the policy that comes with the provider says. */
const NOT_OF_A_POOL = 'was made by no ClusterPool'

const readiness = async (): Promise<string | undefined> =>
  (await world.task(ADAPTER)).status?.conditions?.find(({ type }) => type === 'Ready')?.reason

/** With the API of the test for their API, in the namespace of the test, and the service of the test for theirs. */
const declareProvider = async (secrets: string): Promise<void> => {
  const { plane, namespace } = world
  // As of a pool: the policy lets the task write into no other.
  await plane.rest('PATCH', `/api/v1/namespaces/${namespace}`, {
    metadata: { labels: { 'hive.openshift.io/clusterpool-uid': 'uid-of-pool' } },
  })
  const text = (await plane.kubectl('kustomize', 'kustomize/providers/local'))
    .replaceAll('hyperfleet-system', namespace)
    .replaceAll('hyperfleet-tasks', world.accounts)
    .replaceAll(/muster-cluster-local/g, `muster-cluster-local-${namespace}`)
    .replaceAll(/( +)url: http:.*:8080/g, `$1url: ${world.url}`)
    .replaceAll(/ +tokenPath: .*\n/g, '')
    .replaceAll('http://127.0.0.1:8470', front.url)
    .replaceAll('/var/run/secrets/local-clusters', secrets)
  const paths: Readonly<Record<string, string>> = {
    ServiceAccount: `/api/v1/namespaces/${world.accounts}/serviceaccounts`,
    ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
    ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    AdapterTask: `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${namespace}/adaptertasks`,
  }
  for (const manifest of loadAll(text) as KubeObject[]) await plane.rest('POST', paths[manifest.kind] ?? '', manifest)
}

const specOf = (name: string, more: object): object => ({
  clusterDeployment: { namespace: world.namespace, name },
  powerState: 'Running',
  ...more,
})

/** As the clusterdeployment controller registers one. */
const register = async (name: string, labels: Record<string, string>, more: object = {}): Promise<Cluster> => {
  const made = await world.call<Cluster>('POST', '/clusters', { name, labels, spec: specOf(name, more) })
  if (made === undefined) throw new Error(`${name} was not made`)
  return made
}

const LOCAL = { provider: 'local' }

const secretOf = async (name: string): Promise<string | undefined> => {
  const path = `/api/v1/namespaces/${world.namespace}/secrets/${name}-admin-kubeconfig`
  return ((await world.object(path)) as { data?: { kubeconfig?: string } } | undefined)?.data?.kubeconfig
}

const reported = async (id: string): Promise<readonly string[]> => {
  const found = await world.call<{ items: { adapter: string; conditions: Cluster['status']['conditions'] }[] }>(
    'GET',
    `/clusters/${id}/statuses`,
  )
  const own = found?.items.find(({ adapter }) => adapter === ADAPTER)
  return (own?.conditions ?? []).map(({ type, status, reason }) => `${type} ${status} ${reason}`)
}

const untilReported = (id: string, condition: string) =>
  vi.waitFor(async () => expect(await reported(id)).toContain(condition), PATIENCE)

/** The generation that the API speaks of is there. */
const untilReady = (id: string) =>
  vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)

const clustersOfService = async (): Promise<readonly string[]> =>
  (await service.call<{ items: readonly ClusterView[] }>('GET', '/clusters')).body.items.map(({ name }) => name)

test('a cluster that asks for no provider gets none, and does not wait for one', async () => {
  const { id } = await register('elsewhere', {})
  await world.pulse(id)
  await untilReady(id)
  expect(await clustersOfService()).toEqual([])
})

test('attack: a record that names a namespace which no pool made has nothing written there, over a Secret of that name least of all', async () => {
  const victim = await world.plane.namespace('victim')
  const path = `/api/v1/namespaces/${victim}/secrets`
  const secret = { metadata: { name: 'payroll-admin-kubeconfig' }, stringData: { kubeconfig: 'of another team' } }
  await world.plane.rest('POST', path, secret)
  const before = await world.object(`${path}/payroll-admin-kubeconfig`)
  const { id } = await register('payroll', LOCAL, { clusterDeployment: { namespace: victim, name: 'payroll' } })
  await world.pulse(id)
  // CLUSTER-62
  await vi.waitFor(
    async () => expect(JSON.stringify(await world.call('GET', `/clusters/${id}/statuses`))).toContain(NOT_OF_A_POOL),
    PATIENCE,
  )
  expect(await world.object(`${path}/payroll-admin-kubeconfig`)).toEqual(before)
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id, 'Deleting')
  await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
  expect(await world.object(`${path}/payroll-admin-kubeconfig`)).toEqual(before)
})

let first: Cluster
const INSTALL_CONFIG = { networking: { serviceNetwork: ['10.9.0.0/24'] }, featureGates: ['AllAlpha=false'] }

const changePower = async (powerState: string): Promise<void> => {
  const spec = specOf('first', { installConfig: INSTALL_CONFIG, powerState })
  await world.call('PATCH', `/clusters/${first.id}`, { spec })
  await world.pulse(first.id)
  await untilReady(first.id)
}

test('a cluster gets a kubeconfig that works, in a Secret beside its ClusterDeployment, after one pulse; the answer to POST was lost', async () => {
  first = await register('first', LOCAL, { installConfig: INSTALL_CONFIG })
  await world.pulse(first.id)
  await untilReported(first.id, 'Available Unknown Starting')
  await untilReady(first.id)
  const kubeconfig = await secretOf('first')
  expect(await namespacesOf(kubeconfig ?? '')).toContain('kube-system')
  const api = clientOf(kubeconfig ?? '')
  const kubernetes = await api.readNamespacedService({ name: 'kubernetes', namespace: 'default' })
  expect(kubernetes.spec?.clusterIP).toBe('10.9.0.1')
  expect(front.lost).toBe(1)
  expect(await clustersOfService()).toEqual([first.id])
  expect((await service.call('GET', `/clusters/${first.id}`)).body.featureGates).toBe('AllAlpha=false')
})

test('its kubeconfig is shown nowhere else', async () => {
  const kubeconfig = (await secretOf('first')) ?? ''
  const key =
    Buffer.from(kubeconfig, 'base64')
      .toString()
      .match(/client-key-data: (\S+)/)?.[1] ?? ''
  const shown = [
    ...manager.lines,
    JSON.stringify(await world.task(ADAPTER)),
    JSON.stringify(await world.cluster(first.id)),
  ]
  expect(key).not.toBe('')
  for (const secret of [kubeconfig, key, TOKEN]) expect(shown.join('\n')).not.toContain(secret)
})

test('powerState hibernates it for real, keeps its kubeconfig, and wakes it up', async () => {
  const kubeconfig = await secretOf('first')
  const { uid } = (await service.call('GET', `/clusters/${first.id}`)).body
  await changePower('Hibernating')
  expect(service.processes(uid)).toEqual([])
  expect(await secretOf('first')).toBe(kubeconfig)
  await changePower('Running')
  expect(await namespacesOf(kubeconfig ?? '')).toContain('kube-system')
})

test('CLUSTER-22: beyond the quota the report says so; when there is room, it goes on', async () => {
  const others = []
  for (let n = 1; n < QUOTA; n++) others.push(await register(`other-${n}`, LOCAL, { powerState: 'Hibernating' }))
  for (const { id } of others) await world.pulse(id)
  await vi.waitFor(async () => expect(await clustersOfService()).toHaveLength(QUOTA), PATIENCE)
  const { id } = await register('too-many', LOCAL)
  await world.pulse(id)
  await untilReported(id, 'Available False QuotaExceeded')
  expect(JSON.stringify(await world.call('GET', `/clusters/${id}/statuses`))).toContain(
    `project test has ${QUOTA} of ${QUOTA} clusters: delete one, or ask for a larger quota`,
  )
  for (const other of others) {
    await world.call('DELETE', `/clusters/${other.id}`)
    await world.pulse(other.id, 'Deleting')
    await vi.waitFor(async () => expect(await world.cluster(other.id)).toBeUndefined(), PATIENCE)
  }
  // No pulse: it is tried again by itself.
  await untilReady(id)
  expect(await namespacesOf((await secretOf('too-many')) ?? '')).toContain('kube-system')
})

test('a deletion takes the credentials, then the cluster, and leaves nothing, though the service is killed meanwhile', async () => {
  const { uid } = (await service.call('GET', `/clusters/${first.id}`)).body
  await world.call('DELETE', `/clusters/${first.id}`)
  await world.pulse(first.id, 'Deleting')
  await vi.waitFor(async () => expect(await secretOf('first')).toBeUndefined(), PATIENCE)
  await service.kill()
  await service.start()
  await vi.waitFor(async () => expect(await world.cluster(first.id)).toBeUndefined(), PATIENCE)
  expect(await service.remains(uid)).toEqual({ files: 0, keys: 0, processes: 0 })
})

/** Stands before a service, and loses the answer to the first POST that it gets. */
const losingFirstPost = async (target: string) => {
  let lost = 0
  const server = createServer((incoming, response) => {
    const forwarded = request(`${target}${incoming.url}`, { method: incoming.method, headers: incoming.headers })
    forwarded.on('response', (answer) => {
      if (incoming.method === 'POST' && lost++ === 0) return response.destroy()
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      return answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    incoming.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get lost() {
      return Math.min(lost, 1)
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
