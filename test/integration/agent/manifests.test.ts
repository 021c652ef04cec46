import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlPlane, type RequestProxy, sharedControlPlane, startNats } from '#test/harness/index.ts'
import {
  type AgentUnderTest,
  entry,
  eventually,
  manifests,
  program,
  startAgent,
  stateOf,
  untilSaid,
  untilState,
  type World,
  world,
} from './world.ts'

let cluster: ControlPlane
let proxy: RequestProxy
let nats: Awaited<ReturnType<typeof startNats>>
let here: World
let agent: AgentUnderTest
let namespace: string

interface Found {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>
    readonly managedFields?: readonly { readonly manager: string; readonly operation: string }[]
    readonly resourceVersion: string
  }
  readonly data?: Readonly<Record<string, string>>
}

const configMap = (name: string, data: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
})
const pathOf = (name: string): string => `/api/v1/namespaces/${namespace}/configmaps/${name}`
const read = (name: string): Promise<Found> => cluster.rest<Found>('GET', pathOf(name))
/** Applies that the API server was asked for, by the proxy before it. */
const applies = (): number => proxy.requests().filter(({ method }) => method === 'PATCH').length

beforeAll(async () => {
  cluster = await sharedControlPlane()
  proxy = await cluster.proxy()
  nats = await startNats()
  here = await world(nats.url)
  namespace = await cluster.namespace('agent')
  agent = await startAgent('edge', nats.url, { args: [`--kubeconfig=${proxy.kubeconfig}`] })
})
afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  await here[Symbol.asyncDispose]()
  await nats.stop()
  await proxy.stop()
})

describe('objects of a workload', () => {
  // AGENT-12, AGENT-13
  test('are applied under a manager of their Deployment, changed, pruned, and gone with the key', async () => {
    const key = 'edge.shop.web'
    await here.buckets.desired.put(key, entry(manifests(configMap('a', { x: '1' }), configMap('b', { x: '1' }))))
    await untilState(here, key, { phase: 'Running', revision: 1 })
    const { metadata } = await read('a')
    expect(metadata.annotations).toEqual({ 'fleet.nationtech.io/deployment': 'shop/web' })
    expect(metadata.managedFields).toEqual([
      expect.objectContaining({ manager: 'muster-agent/shop/web', operation: 'Apply' }),
    ])

    await here.buckets.desired.put(key, entry(manifests(configMap('b', { x: '2' }), configMap('c', {})), 2))
    await untilState(here, key, { phase: 'Running', revision: 2 })
    expect((await read('b')).data).toEqual({ x: '2' })
    await expect(read('a')).rejects.toThrow('404')

    await here.buckets.desired.delete(key)
    await eventually(async () => expect(await stateOf(here, key)).toBeUndefined())
    await expect(read('b')).rejects.toThrow('404')
    await expect(read('c')).rejects.toThrow('404')
  })

  // AGENT-2
  test('are not applied again for equal bytes, another number, or a restart of the agent', async () => {
    const key = 'edge.shop.calm'
    const score = manifests(configMap('calm', { x: '1' }))
    await here.buckets.desired.put(key, entry(score))
    await untilState(here, key, { phase: 'Running' })
    const { metadata } = await read('calm')
    const before = applies()
    await here.buckets.desired.put(key, entry(score))
    await here.buckets.desired.put(key, entry(score, 2))
    await untilState(here, key, { phase: 'Running', revision: 2 })
    await agent.kill()
    agent = await startAgent('edge', nats.url, { stateDir: agent.stateDir, args: [`--kubeconfig=${proxy.kubeconfig}`] })
    await here.buckets.desired.put(key, entry(score, 3))
    await untilState(here, key, { phase: 'Running', revision: 3 })
    expect(applies()).toBe(before)
    expect((await read('calm')).metadata.resourceVersion).toBe(metadata.resourceVersion)
  })

  // AGENT-16
  test('wait for what is not ready, and fail with what has given up', async () => {
    const key = 'edge.shop.job'
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'once', namespace },
      spec: {
        activeDeadlineSeconds: 1,
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } },
      },
    }
    await here.buckets.desired.put(key, entry(manifests(job)))
    await untilSaid(here, key, { phase: 'Pending', message: `Job ${namespace}/once is at work` })
    const { message } = await untilState(here, key, { phase: 'Failed' })
    expect(message).toBe('Job has given up: Job was active longer than specified deadline')
  })

  // AGENT-14
  test('that another client deleted are applied again', async () => {
    const key = 'edge.shop.corrected'
    await here.buckets.desired.put(key, entry(manifests(configMap('corrected', { x: '1' }))))
    await untilState(here, key, { phase: 'Running' })
    await cluster.rest('DELETE', pathOf('corrected'))
    await eventually(async () => expect((await read('corrected')).data).toEqual({ x: '1' }))
  })

  // AGENT-12
  test('of two Deployments meet in a conflict, and those of people are never taken', async () => {
    await here.buckets.desired.put('edge.shop.first', entry(manifests(configMap('contested', { x: '1' })), 1, 'uid-1'))
    await untilState(here, 'edge.shop.first', { phase: 'Running' })
    await here.buckets.desired.put('edge.shop.second', entry(manifests(configMap('contested', { x: '1' })), 1, 'uid-2'))
    const refused = await untilState(here, 'edge.shop.second', { phase: 'Failed' })
    expect(refused.message).toContain(`ConfigMap ${namespace}/contested can't be applied`)
    expect(refused.message).toContain('muster-agent/shop/first')
    await here.buckets.desired.delete('edge.shop.second')
    await eventually(async () => expect(await stateOf(here, 'edge.shop.second')).toBeUndefined())
    expect((await read('contested')).metadata.annotations).toEqual({ 'fleet.nationtech.io/deployment': 'shop/first' })
  })

  test('of a kind that is not there, or without a namespace, say what is missing', async () => {
    const odd = { apiVersion: 'example.com/v1', kind: 'Odd', metadata: { name: 'odd' } }
    await here.buckets.desired.put('edge.shop.odd', entry(manifests(odd)))
    await here.buckets.desired.put(
      'edge.shop.bare',
      entry(manifests({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bare' } })),
    )
    const kind = await untilState(here, 'edge.shop.odd', { phase: 'Failed' })
    expect(kind.message).toContain('the API server has no kind Odd in example.com/v1')
    const bare = await untilState(here, 'edge.shop.bare', { phase: 'Failed' })
    expect(bare.message).toContain('ConfigMap bare has no metadata.namespace, which it needs')
    // What was never applied does not keep a Deployment from going.
    for (const key of ['edge.shop.odd', 'edge.shop.bare']) {
      await here.buckets.desired.delete(key)
      await eventually(async () => expect(await stateOf(here, key)).toBeUndefined())
    }
  })

  // AGENT-18
  test('make room for a program when the type changes', async () => {
    const key = 'edge.shop.turncoat'
    await here.buckets.desired.put(key, entry(manifests(configMap('turncoat', {}))))
    await untilState(here, key, { phase: 'Running' })
    await here.buckets.desired.put(key, entry(program('exec sleep 1000'), 2))
    await untilState(here, key, { phase: 'Running', revision: 2 })
    await expect(read('turncoat')).rejects.toThrow('404')
    await here.buckets.desired.put(key, entry(manifests(configMap('turncoat', {})), 3))
    await untilState(here, key, { phase: 'Running', revision: 3 })
    expect(await agent.programs(key)).toEqual([])
  })
})

test('an agent without a cluster says so, and forgets nothing of what an earlier start applied', async () => {
  const key = 'edge2.shop.web'
  await using first = await startAgent('edge2', nats.url, { args: [`--kubeconfig=${cluster.kubeconfig}`] })
  await here.buckets.desired.put(key, entry(manifests(configMap('kept', {}))))
  await untilState(here, key, { phase: 'Running' })
  await first.kill()
  await using second = await startAgent('edge2', nats.url, { stateDir: first.stateDir })
  const message = 'this agent has no Kubernetes cluster: start it with --kubeconfig FILE'
  await untilSaid(here, key, { phase: 'Failed', message })
  await here.buckets.desired.delete(key)
  await second.process.line('a workload is being removed')
  await second.kill()
  await read('kept')
  await using _third = await startAgent('edge2', nats.url, {
    stateDir: first.stateDir,
    args: [`--kubeconfig=${cluster.kubeconfig}`],
  })
  await eventually(async () => expect(await stateOf(here, key)).toBeUndefined())
  await expect(read('kept')).rejects.toThrow('404')
})
