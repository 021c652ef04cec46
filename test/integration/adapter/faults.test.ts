/** What goes wrong on the way: answers of the API server, an API that is away. Every fault is met once and has to be overcome. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { type Fate, type ProxiedRequest, type RequestProxy, type TcpProxy, tcpProxy } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld, type Manager, namespaceAndConfig, PATIENCE } from './world.ts'

let world: AdapterWorld
let proxy: RequestProxy
let wire: TcpProxy
let manager: Manager

beforeAll(async () => {
  world = await adapterWorld()
  proxy = await world.plane.proxy()
  proxy.decide(async (request) => {
    if (request.method === 'PATCH') await creating
    for (const rule of rules) {
      const fate = rule(request)
      if (fate !== undefined) return fate
    }
    return 'pass'
  })
  wire = await tcpProxy(world.url)
  await world.declare('faults', namespaceAndConfig())
  await world.declare('wire', { ...elsewhere(), hyperfleetAPI: { url: wire.url, timeout: '2s' } })
  manager = await world.manager(await world.plane.kubeconfigFor('hyperfleet-adapter', world.namespace, proxy.server), {
    httpTargets: [wire.url],
  })
  await world.until('faults', 'Working')
  await world.until('wire', 'Working')
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await wire?.stop()
  await proxy?.stop()
})

/** Other objects than those of the task beside it. */
const elsewhere = () => {
  const text = JSON.stringify(namespaceAndConfig()).replaceAll('c-{{ .clusterId }}', 'w-{{ .clusterId }}')
  return JSON.parse(text) as ReturnType<typeof namespaceAndConfig>
}

const SETTLED = { timeout: 60_000, interval: 300 }

/** Pulses as a Sentinel does, until the cluster is as it should be. */
const untilPhase = (id: string, phase: 'Ready' | undefined) =>
  vi.waitFor(async () => {
    const found = await world.cluster(id)
    if (found?.status.phase !== phase && found !== undefined) await world.pulse(id)
    expect(found?.status.phase).toBe(phase)
  }, SETTLED)

/** A cluster may be Ready by the word of the other task, before the one that meets a fate has reported at all. */
const untilMet = (met: () => number) => vi.waitFor(() => expect(met()).toBe(1), SETTLED)

type Rule = (request: ProxiedRequest) => Fate | undefined
const rules = new Set<Rule>()

/** Meets the first request that fits with a fate; tells how many were met so. */
const meetFirst = (fits: (request: ProxiedRequest) => boolean, fate: Fate) => {
  let met = 0
  rules.add((request) => {
    if (met > 0 || !fits(request)) return undefined
    met++
    return fate
  })
  return () => met
}

/** Of those of a cluster's objects. */
const meetOnce = (id: string, fits: (request: ProxiedRequest) => boolean, fate: Fate) =>
  meetFirst((request) => request.path.includes(`c-${id}`) && fits(request), fate)

/** Nothing is applied until the fates of clusters that are being created are set. */
let creating: Promise<unknown> = Promise.resolve()
const createToMeet = (name: string, fits: (request: ProxiedRequest) => boolean, fate: Fate) => {
  const created = world.create(name).then(({ id }) => ({ id, met: meetOnce(id, fits, fate) }))
  creating = Promise.allSettled([creating, created])
  return created
}

const isNamespace = ({ path }: ProxiedRequest) => /\/namespaces\/[^/?]+(\?|$)/.test(path)
const isConfig = ({ path }: ProxiedRequest) => /\/configmaps\//.test(path)

const FATES: readonly (readonly [string, Fate])[] = [
  ['403', { status: 403 }],
  ['404', { status: 404 }],
  ['409', { status: 409 }],
  ['500', { status: 500 }],
  ['a connection that breaks before', 'drop'],
  ['an answer that is lost', 'lose'],
]

// Side by side, because Kubernetes takes its time for a namespace.
describe.concurrent.each(FATES)('%s from the API server', (_, fate) => {
  test('ADAPTER-98: when creating an inventory: the cluster is Ready in the end', async () => {
    const met = meetFirst(({ method, path }) => method === 'POST' && path.includes('/adapterinventories'), fate)
    const { id } = await world.create(nameOf('creating an inventory'))
    await untilPhase(id, 'Ready')
    await untilMet(met)
  })

  test.each([
    ['applying the namespace', (request: ProxiedRequest) => request.method === 'PATCH' && isNamespace(request)],
    ['applying what is in it', (request: ProxiedRequest) => request.method === 'PATCH' && isConfig(request)],
  ])('when %s: the cluster is Ready in the end', async (step, fits) => {
    const { id, met } = await createToMeet(nameOf(step), fits, fate)
    await untilPhase(id, 'Ready')
    await untilMet(met)
    await vi.waitFor(async () => {
      const config = await world.object(`/api/v1/namespaces/c-${id}/configmaps/config`)
      // It was Ready by the word of the other task, and the fate came after that.
      if (config === undefined) await world.pulse(id)
      expect(config).toMatchObject({ data: { generation: '1' } })
    }, SETTLED)
    await untilPhase(id, 'Ready')
  })

  test.each([
    [
      'looking for what is in the namespace',
      (request: ProxiedRequest) => request.method === 'GET' && isConfig(request),
    ],
    [
      'deleting what is in the namespace',
      (request: ProxiedRequest) => request.method === 'DELETE' && isConfig(request),
    ],
    ['deleting the namespace', (request: ProxiedRequest) => request.method === 'DELETE' && isNamespace(request)],
  ])('when %s: the record goes only with everything that was applied', async (step, fits) => {
    const { id } = await world.create(nameOf(step))
    await untilPhase(id, 'Ready')
    await world.call('DELETE', `/clusters/${id}`)
    const met = meetOnce(id, fits, fate)
    await untilPhase(id, undefined)
    expect(met()).toBe(1)
    await vi.waitFor(async () => {
      expect(await world.object(`/api/v1/namespaces/c-${id}/configmaps/config`)).toBeUndefined()
      expect(await world.object(`/api/v1/namespaces/c-${id}`)).toBeUndefined()
    }, SETTLED)
  })
})

let count = 0
/** A name of its own for each cluster, that tells what happens to it. */
const nameOf = (step: string): string => `${step.toLowerCase().replaceAll(' ', '-').slice(0, 40)}-${count++}`

test('what is refused for longer is reported with who refused what, and does not stop other clusters', async () => {
  const { id } = await world.create('refused')
  const { id: other } = await world.create('not-refused')
  const refusal: Rule = ({ method, path }) =>
    method === 'PATCH' && path.includes(`c-${id}/configmaps`) ? { status: 403 } : undefined
  rules.add(refusal)
  await world.pulse(id)
  await world.pulse(other)
  await vi.waitFor(async () => expect(await world.reported(id, 'faults')).toContain('Health False Forbidden'), PATIENCE)
  await untilPhase(other, 'Ready')
  await vi.waitFor(async () => expect((await world.task('faults')).status?.failing).toBe(1), PATIENCE)
  rules.delete(refusal)
  await untilPhase(id, 'Ready')
  await vi.waitFor(async () => expect((await world.task('faults')).status?.failing).toBe(0), PATIENCE)
})

test('CLUSTER-22: what a ResourceQuota refuses is reported as that, and is applied by itself when there is room', async () => {
  const quotas = `/api/v1/namespaces/${world.namespace}/resourcequotas`
  await world.plane.rest('POST', quotas, {
    metadata: { name: 'used-up' },
    spec: { hard: { 'count/serviceaccounts': '0' } },
  })
  const isCounted = async () =>
    ((await world.object(`${quotas}/used-up`)) as { status?: { hard?: object } } | undefined)?.status?.hard
  await vi.waitFor(async () => expect(await isCounted()).toBeDefined(), PATIENCE)
  await world.declare('quota', {
    params: [{ name: 'clusterId', source: 'event.id' }],
    resources: [
      {
        name: 'account',
        manifest: {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: 'quota-{{ .clusterId }}', namespace: world.namespace },
        },
        discovery: { namespace: world.namespace, by_name: 'quota-{{ .clusterId }}' },
      },
    ],
  })
  await world.until('quota', 'Working')
  const { id } = await world.create('no-room')
  await world.pulse(id)
  const reported = () => world.reported(id, 'quota')
  await vi.waitFor(async () => expect(await reported()).toContain('Available False QuotaExceeded'), PATIENCE)
  await world.plane.rest('DELETE', `${quotas}/used-up`)
  await vi.waitFor(async () => expect(await reported()).toContain('Available True Available'), PATIENCE)
})

test('a task whose ConfigMap can’t be read for a while goes on as it was, and ends when it is suspended', async () => {
  const text = JSON.stringify({
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [
      {
        name: 'config',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'reread-{{ .clusterId }}', namespace: world.namespace },
        },
        discovery: { namespace: world.namespace, by_name: 'reread-{{ .clusterId }}' },
      },
    ],
  })
  await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, {
    metadata: { name: 'task-elsewhere', labels: { 'muster.dev/task-account': 'everything' } },
    data: { 'task-config.yaml': text },
  })
  await world.declare('elsewhere', { taskRef: { name: 'task-elsewhere' } })
  await world.until('elsewhere', 'Working')
  const change = (spec: object) => world.change('elsewhere', spec)
  const isAtWork = async () => {
    const { values } = (await manager.registry.getSingleMetric('hyperfleet_adapter_up')?.get()) ?? { values: [] }
    return values.find(({ labels }) => String(labels.adapter_name).startsWith('elsewhere'))?.value
  }
  let refused = 0
  const refusal: Rule = ({ path }) => {
    if (!path.includes('/configmaps/task-elsewhere')) return undefined
    refused++
    return { status: 500 }
  }
  rules.add(refusal)
  await change({ events: { visibility: '45s' } })
  await vi.waitFor(() => expect(refused).toBeGreaterThan(0), PATIENCE)
  const { id } = await world.create('elsewhere')
  await world.pulse(id)
  await vi.waitFor(
    async () => expect(await world.reported(id, 'elsewhere')).toContain('Applied True Applied'),
    PATIENCE,
  )
  expect(await isAtWork()).toBe(1)
  await change({ suspend: true })
  await world.until('elsewhere', 'Suspended')
  await vi.waitFor(async () => expect(await isAtWork()).toBe(0), PATIENCE)
  rules.delete(refusal)
})

const readyOf = ({ status }: AdapterTask) => status?.conditions?.find(({ type }) => type === 'Ready')

test('the HyperFleet API away for a while: the task says so, and everything asked for meanwhile is done when it is back', async () => {
  const { id: leaving } = await world.create('leaving')
  await world.pulse(leaving)
  await vi.waitFor(async () => expect(await world.object(`/api/v1/namespaces/w-${leaving}`)).toBeDefined(), PATIENCE)
  await vi.waitFor(
    async () => expect(await world.reported(leaving, 'wire')).toContain('Applied True Applied'),
    PATIENCE,
  )
  wire.refuse()
  wire.cut()
  await vi.waitFor(
    async () =>
      expect(readyOf(await world.task('wire'))).toMatchObject({ status: 'False', reason: 'EventsUnreachable' }),
    PATIENCE,
  )
  const { id: coming } = await world.create('coming')
  await world.pulse(coming)
  await world.call('DELETE', `/clusters/${leaving}`)
  await world.pulse(leaving, 'Deleting')
  wire.accept()
  await world.until('wire', 'Working')
  await vi.waitFor(async () => expect(await world.object(`/api/v1/namespaces/w-${coming}`)).toBeDefined(), SETTLED)
  await untilPhase(leaving, undefined)
  await vi.waitFor(async () => expect(await world.object(`/api/v1/namespaces/w-${leaving}`)).toBeUndefined(), SETTLED)
})
