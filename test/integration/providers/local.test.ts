/** The provider `local`, kustomize/providers/local, as it is delivered: from a cluster of the HyperFleet API to a kubeconfig that works. */

import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ClusterView } from '#hack/local-clusters/cluster.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { KubeObject } from '#operator/index.ts'
import { type AdapterWorld, adapterWorld, type Cluster, type Manager } from '../adapter/world.ts'
import { deliver, letIn, markAsOfPool, OF_A_POOL } from './delivered.ts'
import { clientOf, namespacesOf, PATIENCE, QUOTA, type ServiceWorld, serviceWorld, TOKEN } from './world.ts'

vi.setConfig({ testTimeout: 240_000 })

const ADAPTER = 'cluster-local'
const LOCAL = { folder: 'kustomize/providers/local', name: ADAPTER }
/** Labels of the records of its clusters. */
const MINE = { provider: 'local', ...OF_A_POOL }

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

const readiness = async (): Promise<string | undefined> =>
  (await world.task(ADAPTER)).status?.conditions?.find(({ type }) => type === 'Ready')?.reason

/** With the service of the test for theirs, beside a cluster of a pool. */
const declareProvider = async (secrets: string): Promise<void> => {
  await deliver(world, LOCAL, (text) =>
    text.replaceAll('http://127.0.0.1:8470', front.url).replaceAll('/var/run/secrets/local-clusters', secrets),
  )
  await markAsOfPool(world)
  await letIn(world, LOCAL)
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

describe('CLUSTER-62: a record that names a namespace of others', () => {
  let path: string
  let before: KubeObject | undefined

  beforeAll(async () => {
    const victim = await world.plane.namespace('victim')
    const secrets = `/api/v1/namespaces/${victim}/secrets`
    path = `${secrets}/payroll-admin-kubeconfig`
    const secret = { metadata: { name: 'payroll-admin-kubeconfig' }, stringData: { kubeconfig: 'of another team' } }
    await world.plane.rest('POST', secrets, secret)
    before = await world.object(path)
  })

  const registerThere = (labels: Record<string, string>) =>
    register('payroll', labels, { clusterDeployment: { namespace: path.split('/')[4], name: 'payroll' } })

  const untilSaid = (id: string, text: string) =>
    world.pulsedUntil(id, async () =>
      expect(JSON.stringify(await world.call('GET', `/clusters/${id}/statuses`))).toContain(text),
    )

  test('and says that it is of no pool: nothing is made for it, and it can be deleted', async () => {
    const { id } = await registerThere({ provider: 'local' })
    await untilSaid(id, 'clustersOfPoolsOnly')
    expect(await clustersOfService()).toEqual([])
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
    expect(await world.object(path)).toEqual(before)
  })

  test('attack: and says that it is of a pool: nothing is read or written there, over a Secret of that name least of all', async () => {
    const { id } = await registerThere(MINE)
    await untilSaid(id, 'Forbidden')
    expect(await clustersOfService()).toEqual([])
    await world.call('DELETE', `/clusters/${id}`)
    await untilSaid(id, 'Deleting')
    expect(await world.object(path)).toEqual(before)
    await world.call('POST', `/clusters/${id}/force-delete`, { reason: 'it names what is not its own' })
  })

  test('attack: and its account was let in there: the policy refuses it', async () => {
    await letIn(world, LOCAL, path.split('/')[4])
    const { id } = await registerThere(MINE)
    await untilSaid(id, 'was made by no ClusterPool')
    expect(await world.object(path)).toEqual(before)
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
    expect(await world.object(path)).toEqual(before)
  })
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
  first = await register('first', MINE, { installConfig: INSTALL_CONFIG })
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
  for (let n = 1; n < QUOTA; n++) others.push(await register(`other-${n}`, MINE, { powerState: 'Hibernating' }))
  for (const { id } of others) await world.pulse(id)
  await vi.waitFor(async () => expect(await clustersOfService()).toHaveLength(QUOTA), PATIENCE)
  const { id } = await register('too-many', MINE)
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

test('CLUSTER-64: a person deletes its namespace, which waits for the record: the rights go with it, and yet nothing is left', async () => {
  const place = await world.plane.namespace('cluster')
  const path = `/api/v1/namespaces/${place}`
  await world.plane.rest('PATCH', path, { metadata: { labels: OF_A_POOL } })
  await letIn(world, LOCAL, place)
  // In the place of its ClusterDeployment.
  const held = { metadata: { name: 'held', finalizers: ['example.com/hold'] } }
  await world.plane.rest('POST', `${path}/configmaps`, held)
  const { id } = await register('doomed', MINE, { clusterDeployment: { namespace: place, name: 'doomed' } })
  await world.pulse(id)
  await untilReady(id)
  const { uid } = (await service.call('GET', `/clusters/${id}`)).body
  const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${place}/rolebindings`
  await world.plane.rest('DELETE', path)
  await vi.waitFor(async () => expect(await world.object(bindings)).toMatchObject({ items: [] }), PATIENCE)
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
  expect(await service.remains(uid)).toEqual({ files: 0, keys: 0, processes: 0 })
  expect(await world.object(path)).toBeDefined()
  await world.plane.rest('PATCH', `${path}/configmaps/held`, { metadata: { finalizers: null } })
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
