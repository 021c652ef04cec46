/** A pool of real clusters of the provider `local` whose requests are answered in any way, or not at all, while its processes are killed. */
import { Transform } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Fate, type MusterProcess, type ProxiedRequest, startMuster } from '#test/harness/index.ts'
import { type SurvivorsWorld, survivorsWorld } from './survivors-world.ts'
import { clientOf, namespacesOf, PATIENCE } from './world.ts'

vi.setConfig({ testTimeout: 300_000 })

let the: SurvivorsWorld

beforeAll(async () => {
  the = await survivorsWorld()
})

afterAll(() => the?.[Symbol.asyncDispose]())

describe('CLUSTER-71: of each record one cluster is made, and nothing of it stays, whatever the provider answers and whichever process is killed', () => {
  let managers: MusterProcess

  const start = async (): Promise<void> => {
    managers = await startMuster([
      'manager',
      '--controllers=clusterpool,clusterclaim,clusterdeployment,sentinel,adapter',
      `--kubeconfig=${the.world.plane.kubeconfig}`,
      `--hyperfleet-api-url=${the.world.url}`,
      `--adapter-files=${the.secrets}`,
      `--adapter-http-targets=${the.before.url}`,
      '--metrics-bind-address=0',
      '--health-probe-bind-address=0',
    ])
  }
  beforeAll(start)
  afterAll(async () => {
    await managers?.stop()
    await freeLeases()
  })

  /** What 15 s would do: the next one need not wait for the Leases to run out. */
  const freeLeases = () => the.world.plane.kubectl('delete', 'leases', '--all', `--namespace=${the.world.namespace}`)
  const killManagers = async (): Promise<void> => {
    managers.signal('SIGKILL')
    await managers.exited
    await freeLeases()
    await start()
  }
  const killService = async (): Promise<void> => {
    await the.service.kill()
    await the.service.start()
  }

  /** The service has done it: then this is done, and the answer never comes. */
  const whenDone = (then: () => Promise<void>): Fate => ({ through: new Transform({ transform: () => void then() }) })

  interface Fault {
    readonly name: string
    meet(): Fate | Promise<Fate>
  }

  /** Of a request that is not done: it is asked for again. */
  const refusals = (): readonly Fault[] => [
    { name: 'managers are killed, and it never comes', meet: () => killManagers().then(() => 'drop') },
    { name: '500', meet: () => ({ status: 500 }) },
    { name: 'the service is killed before it', meet: () => killService().then(() => 'drop') },
    { name: '503', meet: () => ({ status: 503 }) },
  ]
  /** Of one that is done, and not answered. */
  const losses = (): readonly Fault[] => [
    { name: 'no answer in time, though it is done', meet: () => ({ late: new Promise(() => undefined) }) },
    { name: 'the service is killed, though it is done', meet: () => whenDone(killService) },
    { name: 'managers are killed, though it is done', meet: () => whenDone(killManagers) },
    { name: 'its answer is lost', meet: () => 'lose' },
  ]
  const faults = (): readonly Fault[] => [...refusals(), ...losses()]

  /** The requests of this kind meet all of these one after the other, and pass from then on. @returns those that are to come */
  const meetFaults = (fits: (request: ProxiedRequest) => boolean, these: readonly Fault[]): readonly string[] => {
    const steps = [...these]
    const left = steps.map(({ name }) => name)
    the.before.decide((request) => {
      const step = fits(request) ? steps.shift() : undefined
      if (step === undefined) return 'pass'
      left.shift()
      return step.meet()
    })
    return left
  }

  test('when it is made', async () => {
    const left = meetFaults(({ method }) => method === 'POST' || method === 'PUT', faults())
    await the.sizes(1)
    await vi.waitFor(() => expect(left).toEqual([]), { ...PATIENCE, timeout: 200_000 })
    const [name = ''] = await the.untilRunning(1)
    expect(await the.clusters()).toMatchObject([{ name: await the.record(name) }])
    // An API server and a controller manager.
    expect(the.service.processes(the.service.folderOf(''))).toHaveLength(2)
    expect(await namespacesOf(await the.secretOf(name))).toContain('kube-system')
  })

  test('CLUSTER-86: when it falls asleep and when it wakes up: no process is left, then it has both again, with its data', async () => {
    const [name = ''] = await the.untilRunning(1)
    const [cluster] = await the.clusters()
    const kubeconfig = await the.secretOf(name)
    await clientOf(kubeconfig).createNamespacedConfigMap({
      namespace: 'default',
      body: { metadata: { name: 'kept' }, data: { by: 'me' } },
    })
    /** Whether it runs is asked of the service in vain by all of these, one after the other; the last one is done, and not answered. */
    const switchTo = async (running: 0 | 1, these: readonly Fault[]): Promise<void> => {
      const left = meetFaults(({ method }) => method === 'PATCH' || method === 'PUT', these)
      await the.sizes(1, running)
      const state = running === 1 ? 'Running' : 'Hibernating'
      await vi.waitFor(async () => expect((await the.deployment(name)).status?.powerState).toBe(state), PATIENCE)
      expect(left).toEqual([])
      expect(the.service.processes(the.service.folderOf(''))).toHaveLength(2 * running)
      expect(await the.clusters()).toEqual([cluster])
    }
    const [refused, lost] = [refusals(), losses()]
    await switchTo(0, [...refused.slice(0, 2), ...lost.slice(1, 2)])
    await switchTo(1, [...refused.slice(2), ...lost.slice(2, 3)])
    await switchTo(0, lost.slice(0, 1))
    await switchTo(1, lost.slice(3))
    const kept = { name: 'kept', namespace: 'default' }
    expect((await clientOf(await the.secretOf(name)).readNamespacedConfigMap(kept)).data).toEqual({ by: 'me' })
  })

  test('when it is deleted', async () => {
    const [{ uid } = { uid: '' }] = await the.clusters()
    const left = meetFaults(({ method }) => method === 'DELETE', faults())
    await the.sizes(0)
    await vi.waitFor(async () => expect(await the.deployments()).toEqual([]), { ...PATIENCE, timeout: 200_000 })
    expect(await the.clusters()).toEqual([])
    expect(await the.service.remains(uid)).toEqual({ files: 0, keys: 0, processes: 0 })
    // Once it is done there is nothing to ask for again.
    expect(left.length).toBeLessThan(losses().length)
  })

  test('when three are made at once, and a POST that is done meets each of the other losses: of each record there is one cluster', async () => {
    const left = meetFaults(({ method }) => method === 'POST', losses().slice(1))
    await the.sizes(left.length)
    const names = await the.untilRunning(3)
    expect(left).toEqual([])
    const records = await Promise.all(names.map(the.record))
    const made = await the.clusters()
    expect(made.map(({ name }) => name).toSorted()).toEqual(records.toSorted())
    expect(the.service.processes(the.service.folderOf(''))).toHaveLength(2 * names.length)
    for (const name of names) expect(await namespacesOf(await the.secretOf(name))).toContain('kube-system')
    await the.sizes(0)
    await vi.waitFor(async () => expect(await the.deployments()).toEqual([]), PATIENCE)
    expect(await the.clusters()).toEqual([])
    for (const { uid } of made) expect(await the.service.remains(uid)).toEqual({ files: 0, keys: 0, processes: 0 })
  })
})
