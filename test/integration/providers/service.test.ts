/** The service that stands for a cloud's API: docs/providers.md. Real API servers; the service and they are killed. */
import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ensureCertificates, leafFile } from '#hack/local-clusters/certificates.ts'
import type { ClusterView } from '#hack/local-clusters/cluster.ts'
import { accepts, freePort } from '#hack/process/ports.ts'
import { commandsWith, readPage } from '../docs/page.ts'
import { runPage } from '../docs/shell.ts'
import {
  clientOf,
  namespacesOf,
  OTHER_TOKEN,
  PATIENCE,
  QUOTA,
  type ServiceWorld,
  serviceWorld,
  TOKEN,
} from './world.ts'

vi.setConfig({ testTimeout: 240_000 })

const NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system']
const DAY_MS = 24 * 3_600_000

let world: ServiceWorld

beforeAll(async () => {
  world = await serviceWorld()
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

describe('a cluster', () => {
  let cluster: ClusterView
  const pidsOf = () => world.processes(cluster.uid).toSorted((a, b) => a - b)
  const lists = () =>
    vi.waitFor(async () => expect(await namespacesOf(cluster.kubeconfig)).toEqual(NAMESPACES), PATIENCE)

  test('is asked for once, however often the request is sent: a client that gets no answer sends it again', async () => {
    const body = {
      name: 'first',
      serviceCidr: '10.7.0.0/24',
      featureGates: 'AllAlpha=false',
      domain: 'one.example.com',
    }
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => world.call('POST', '/clusters', body)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 200, 201])
    expect(new Set(answers.map(({ body }) => body.uid)).size).toBe(1)
    cluster = await world.until('first', 'Running')
    expect(cluster.status.conditions).toMatchObject([{ type: 'Ready', status: 'True', reason: 'Running' }])
    expect((await world.call('POST', '/clusters', { ...body, serviceCidr: '10.8.0.0/24' })).body).toMatchObject({
      code: 'Exists',
    })
  })

  test('is a Kubernetes API as it was asked for: its kubeconfig lists namespaces', async () => {
    await lists()
    const service = await clientOf(cluster.kubeconfig).readNamespacedService({
      name: 'kubernetes',
      namespace: 'default',
    })
    expect(service.spec?.clusterIP).toBe('10.7.0.1')
    expect(Buffer.from(cluster.kubeconfig, 'base64').toString()).toContain('current-context: one.example.com')
    expect(pidsOf()).toHaveLength(2)
    await clientOf(cluster.kubeconfig).createNamespacedConfigMap({
      namespace: 'default',
      body: { metadata: { name: 'kept' }, data: { by: 'the test' } },
    })
  })

  const dataOf = async () =>
    (await clientOf(cluster.kubeconfig).readNamespacedConfigMap({ name: 'kept', namespace: 'default' })).data

  test('goes on while the service is dead, and belongs to the next one', async () => {
    const before = pidsOf()
    await world.kill()
    await lists()
    await world.start()
    expect(await world.until('first', 'Running')).toEqual(cluster)
    expect(pidsOf()).toEqual(before)
  })

  test.for(['kube-apiserver', 'kube-controller-manager'])(
    'has %s again when that is killed, with its data',
    async (part) => {
      const file = `${world.folderOf(cluster.uid)}/${part}.pid`
      const pid = Number(readFileSync(file, 'utf8'))
      process.kill(pid, 'SIGKILL')
      await vi.waitFor(() => expect(Number(readFileSync(file, 'utf8'))).not.toBe(pid), PATIENCE)
      await world.until('first', 'Running')
      await lists()
      expect(await dataOf()).toEqual({ by: 'the test' })
    },
  )

  test('gets certificates that its API server takes while it runs: the next kubeconfig works', async () => {
    const [pid] = pidsOf()
    const served = () => serialOf(cluster.server)
    const before = await served()
    // The service does it when a third of their life is left, which thirty days of three hundred are not.
    await ensureCertificates(world.folderOf(cluster.uid), 300 * DAY_MS, Date.now())
    await vi.waitFor(async () => expect(await served()).not.toBe(before), PATIENCE)
    const file = readFileSync(leafFile(world.folderOf(cluster.uid), 'apiserver'))
    expect(await served()).toBe(new X509Certificate(file).serialNumber)
    await world.kill()
    await world.start()
    const renewed = await world.until('first', 'Running')
    expect(renewed.kubeconfig).not.toBe(cluster.kubeconfig)
    cluster = renewed
    await lists()
    expect(pidsOf()).toContain(pid)
  })

  test('hibernates: nothing of it runs; and resumes with its data and its kubeconfig', async () => {
    expect((await world.call('PATCH', '/clusters/first', { power: 'Hibernating' })).status).toBe(200)
    const asleep = await world.until('first', 'Hibernating')
    expect(asleep.status.conditions).toMatchObject([{ status: 'True', reason: 'Hibernating' }])
    expect(pidsOf()).toEqual([])
    await world.kill()
    await world.start()
    await world.until('first', 'Hibernating')
    expect((await world.call('PUT', '/clusters/first', { power: 'Running' })).status).toBe(200)
    expect((await world.until('first', 'Running')).kubeconfig).toBe(cluster.kubeconfig)
    expect(await dataOf()).toEqual({ by: 'the test' })
    expect((await world.call('PUT', '/clusters/first', { serviceCidr: '10.9.0.0/24' })).body).toMatchObject({
      code: 'Immutable',
    })
  })

  test('is deleted with processes, folder and keys, and no other one of its name', async () => {
    const remains = await world.remains(cluster.uid)
    expect(Math.min(remains.files, remains.keys, remains.processes)).toBeGreaterThan(0)
    const refused = await fetch(`${world.url}/clusters/first`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${TOKEN}`, 'if-match': '"another"' },
    })
    expect(refused.status).toBe(412)
    expect((await world.call('DELETE', '/clusters/first')).status).toBe(202)
    // Wherever the service is with it.
    await world.kill()
    await world.start()
    await vi.waitFor(async () => expect((await world.call('GET', '/clusters/first')).status).toBe(404), PATIENCE)
    expect(await world.remains(cluster.uid)).toEqual({ files: 0, keys: 0, processes: 0 })
  })
})

test('CLUSTER-75: an API server that is killed at any moment, of its start, of its work, of its falling asleep, is there again when it is to run, with the data', async () => {
  const { body: made } = await world.call('POST', '/clusters', { name: 'mortal' })
  const pidFile = `${world.folderOf(made.uid)}/kube-apiserver.pid`
  const killed = new Set<number>()
  /** The one that runs then. */
  const kill = (): Promise<void> =>
    vi.waitFor(() => {
      const pid = Number(readFileSync(pidFile, 'utf8'))
      expect(killed).not.toContain(pid)
      process.kill(pid, 'SIGKILL')
      killed.add(pid)
    }, PATIENCE)
  await kill()
  // It has begun, and is not ready.
  await vi.waitFor(async () => expect(await accepts(Number(new URL(made.server).port))).toBe(true), PATIENCE)
  await kill()
  const { kubeconfig } = await world.until('mortal', 'Running')
  const configMaps = { namespace: 'default', body: { metadata: { name: 'kept' }, data: { by: 'the test' } } }
  await vi.waitFor(() => clientOf(kubeconfig).createNamespacedConfigMap(configMaps), PATIENCE)
  await kill()
  await vi.waitFor(async () => expect(await namespacesOf(kubeconfig)).toContain('kube-system'), PATIENCE)
  await world.until('mortal', 'Running')
  const pid = Number(readFileSync(pidFile, 'utf8'))
  await world.call('PATCH', '/clusters/mortal', { power: 'Hibernating' })
  process.kill(pid, 'SIGKILL')
  await world.until('mortal', 'Hibernating')
  await world.call('PATCH', '/clusters/mortal', { power: 'Running' })
  await kill()
  await world.until('mortal', 'Running')
  const kept = await clientOf(kubeconfig).readNamespacedConfigMap({ name: 'kept', namespace: 'default' })
  expect(kept.data).toEqual({ by: 'the test' })
  await world.call('DELETE', '/clusters/mortal')
  await vi.waitFor(async () => expect((await world.call('GET', '/clusters/mortal')).status).toBe(404), PATIENCE)
  expect(await world.remains(made.uid)).toEqual({ files: 0, keys: 0, processes: 0 })
})

test('is started and asked for a cluster by the commands of docs/providers.md', async () => {
  const page = await readPage('docs/providers.md')
  const port = await freePort()
  const served = `curl -s http://127.0.0.1:${port}/clusters`
  await runPage(
    {
      ...page,
      blocks: [
        {
          commands: commandsWith(page, 'npm run local-clusters'),
          way: { how: 'beside', until: served },
          output: undefined,
        },
        {
          commands: commandsWith(page, 'http://127.0.0.1:8470/clusters'),
          way: { how: 'here', refused: [], exitCode: 0 },
          output: undefined,
        },
      ],
    },
    // A port and processes of its own, which end with it.
    { programs: [], printed: { '--folder=clusters': `--folder=clusters --temporary --port=${port}`, 8470: `${port}` } },
  )
})

test('CLUSTER-74: a life of certificates that may end before the next kubeconfig is there is refused', async () => {
  const program = fileURLToPath(new URL('../../../hack/local-clusters/cli.ts', import.meta.url))
  const args = [program, '--folder=none', '--projects=none', '--certificate-validity=2h']
  await expect(promisify(execFile)(process.execPath, args)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'local-clusters: --certificate-validity is 2h: kubeconfigs would end before users have the next one. Write 3h or more',
    ),
  })
})

test('a service that is killed while it makes a cluster makes one, and no second one', async () => {
  for (const delayMs of [0, 10, 30, 90, 270, 810]) {
    void world.call('POST', '/clusters', { name: 'hurried' }).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    await world.kill()
    await world.start()
  }
  await world.call('POST', '/clusters', { name: 'hurried' })
  await world.until('hurried', 'Running')
  const { body } = await world.call<{ items: readonly ClusterView[] }>('GET', '/clusters')
  expect(body.items.map(({ name }) => name)).toEqual(['hurried'])
  // An API server and a controller manager.
  expect(world.processes(world.folderOf(''))).toHaveLength(2)
  await world.call('DELETE', '/clusters/hurried')
  await vi.waitFor(async () => expect((await world.call('GET', '/clusters/hurried')).status).toBe(404), PATIENCE)
})

describe('a request is refused with its reason', () => {
  const hibernated = (name: string) => ({ name, power: 'Hibernating' })

  test('beyond the quota, until a cluster is deleted', async () => {
    for (let n = 0; n < QUOTA; n++)
      expect((await world.call('POST', '/clusters', hibernated(`quota-${n}`))).status).toBe(201)
    expect(await world.call('POST', '/clusters', hibernated('one-more'))).toEqual({
      status: 403,
      body: {
        status: 403,
        code: 'QuotaExceeded',
        detail: 'project test has 2 of 2 clusters: delete one, or ask for a larger quota',
      },
    })
    await world.call('DELETE', '/clusters/quota-0')
    await vi.waitFor(async () => expect((await world.call('GET', '/clusters/quota-0')).status).toBe(404), PATIENCE)
    expect((await world.call('POST', '/clusters', hibernated('one-more'))).status).toBe(201)
  })

  test.for([
    ['GET', '/clusters/quota-1', undefined, OTHER_TOKEN, 404, 'NotFound'],
    ['GET', '/clusters', undefined, 'no-token-of-any-project', 401, 'Unauthorized'],
    ['POST', '/clusters', { nmae: 'x' }, 'no-token-of-any-project', 401, 'Unauthorized'],
    ['POST', '/clusters', { nmae: 'x' }, OTHER_TOKEN, 400, 'BadRequest'],
    ['POST', '/clusters', { name: 'x', nodes: 3 }, OTHER_TOKEN, 400, 'BadRequest'],
    ['POST', '/clusters', { name: 'x', serviceCidr: '999.0.0.0/24' }, OTHER_TOKEN, 400, 'BadRequest'],
    ['GET', '/nodes', undefined, OTHER_TOKEN, 404, 'NoRoute'],
  ] as const)('%s %s %j as %s: %i %s', async ([method, path, body, token, status, code]) => {
    expect(await world.call(method, path, body, token)).toMatchObject({ status, body: { code } })
  })
})

/** Of the certificate that a server shows. */
const serialOf = async (server: string): Promise<string> => {
  const { hostname, port } = new URL(server)
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerX509Certificate()?.serialNumber ?? ''
  } finally {
    socket.destroy()
  }
}
