/** The service that stands for a cloud's API: the etcd that all its clusters share is killed. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { clientOf, namespacesOf, PATIENCE, type ServiceWorld, serviceWorld } from './world.ts'

vi.setConfig({ testTimeout: 240_000 })

let world: ServiceWorld

beforeAll(async () => {
  world = await serviceWorld()
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

test('CLUSTER-75: the etcd that all clusters share is killed, under one that runs, while another one starts, while the service is dead, and in a deletion: it is there again with the data, under the same API servers', async () => {
  const pidFile = `${world.folderOf('../etcd')}/etcd.pid`
  const kill = (): number => {
    const pid = Number(readFileSync(pidFile, 'utf8'))
    process.kill(pid, 'SIGKILL')
    return pid
  }
  const killed = async (): Promise<void> => {
    const pid = kill()
    await vi.waitFor(() => expect(Number(readFileSync(pidFile, 'utf8'))).not.toBe(pid), PATIENCE)
  }
  const gone = (name: string) =>
    vi.waitFor(async () => expect((await world.call('GET', `/clusters/${name}`)).status).toBe(404), PATIENCE)
  await world.call('POST', '/clusters', { name: 'steady' })
  const steady = await world.until('steady', 'Running')
  /** Its controller manager may end and begin again: one that starts while etcd is away does. */
  const apiServer = () =>
    world.processes(steady.uid).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('kube-apiserver'))
  const before = apiServer()
  expect(before).toHaveLength(1)
  const api = clientOf(steady.kubeconfig)
  const written: string[] = []
  /** What was written before is there, and more can be written. */
  const works = () =>
    vi.waitFor(async () => {
      const name = `note-${written.length}`
      const { items } = await api.listNamespacedConfigMap({ namespace: 'default', labelSelector: 'of=test' })
      expect(items.map(({ metadata }) => metadata?.name)).toEqual(written)
      await api.createNamespacedConfigMap({
        namespace: 'default',
        body: { metadata: { name, labels: { of: 'test' } } },
      })
      written.push(name)
    }, PATIENCE)
  await works()

  await killed()
  await works()

  const { body: starting } = await world.call('POST', '/clusters', { name: 'starting' })
  await killed()
  await works()
  const { kubeconfig } = await world.until('starting', 'Running')
  await vi.waitFor(async () => expect(await namespacesOf(kubeconfig)).toContain('kube-system'), PATIENCE)

  await world.kill()
  kill()
  await world.start()
  await works()
  expect(apiServer()).toEqual(before)

  await world.call('DELETE', '/clusters/starting')
  await killed()
  await gone('starting')
  await works()
  await world.call('DELETE', '/clusters/steady')
  await gone('steady')
  for (const { uid } of [starting, steady])
    expect(await world.remains(uid)).toEqual({ files: 0, keys: 0, processes: 0 })
})
