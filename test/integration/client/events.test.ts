import { expect, onTestFinished, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { EVENTS, type EventObject } from '#operator/client/event-object.ts'
import { createEvents } from '#operator/client/events.ts'
import { silent } from '#operator/model/log.ts'
import { manualClock, sharedControlPlane } from '#test/harness/index.ts'
import { CONFIG_MAPS, configMap, transportOf } from './world.ts'

const PATIENCE = { timeout: 20_000 }

const world = async () => {
  const controlPlane = await sharedControlPlane()
  const namespace = await controlPlane.namespace('events')
  const api = createApi(transportOf(controlPlane.kubeconfig))
  const clock = manualClock()
  const object = await api.create(CONFIG_MAPS, configMap(namespace, 'a'))
  const written = async (): Promise<EventObject[]> =>
    (await Array.fromAsync(api.list(EVENTS, { namespace }))).toSorted((x, y) => (x.note < y.note ? -1 : 1))
  const record = (over = api) => {
    const events = createEvents({ api: over, clock, log: silent, controller: 'muster-test', instance: 'here' })
    onTestFinished(() => events.close(0))
    return events
  }
  return { controlPlane, namespace, api, clock, object, written, record }
}

test('what a controller says about an object is an Event that kubectl shows with it', async () => {
  const { controlPlane, namespace, object, written, record } = await world()
  const events = record()
  events.about(object).normal('Provisioned', 'it is there')
  events.about(object).warning('Failed', 'it broke')
  await expect.poll(written).toHaveLength(2)
  expect(await written()).toMatchObject([
    {
      type: 'Warning',
      reason: 'Failed',
      note: 'it broke',
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'muster-test',
      reportingInstance: 'here',
      regarding: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', namespace, uid: object.metadata.uid },
    },
    { type: 'Normal', reason: 'Provisioned', note: 'it is there' },
  ])
  expect(await controlPlane.kubectl('events', '-n', namespace, '--for=configmap/a')).toContain('Provisioned')
})

test('the same said often is one Event whose count is brought up to date now and then', async () => {
  const { clock, object, written, record } = await world()
  const events = record()
  for (let time = 0; time < 3; time += 1) events.about(object).normal('Waiting', 'for a host')
  await expect.poll(written).toHaveLength(1)
  await clock.advance('29s')
  events.about(object).normal('Waiting', 'for a host')
  await clock.advance('1s')
  await expect
    .poll(async () => (await written())[0]?.series)
    .toEqual({
      count: 4,
      lastObservedTime: '2026-01-01T00:00:29.000000Z',
    })
  await clock.advance('7m')
  events.about(object).normal('Waiting', 'for a host')
  await expect.poll(written).toHaveLength(2)
})

test('an Event that has expired in the API server is written again with its count', async () => {
  const { namespace, api, clock, object, written, record } = await world()
  const events = record()
  events.about(object).normal('Waiting', 'for a host')
  await expect.poll(written).toHaveLength(1)
  const [first] = await written()
  await api.delete(EVENTS, first?.metadata.name ?? '', namespace)
  events.about(object).normal('Waiting', 'for a host')
  await clock.advance('30s')
  await expect.poll(async () => (await written()).map(({ series }) => series?.count)).toEqual([2])
})

test('closing sends what waits, counts included', async () => {
  const { object, written, record } = await world()
  const events = record()
  for (const note of ['one', 'two', 'two']) events.about(object).normal('Said', note)
  await events.close('10s')
  expect((await written()).map(({ note, series }) => [note, series?.count])).toEqual([
    ['one', undefined],
    ['two', 2],
  ])
  events.about(object).normal('Said', 'too late')
  await events.close('10s')
  expect(await written()).toHaveLength(2)
})

test('an API server that is away for a moment gets the Event later', async () => {
  const { controlPlane, clock, object, written, record } = await world()
  await using proxy = await controlPlane.proxy()
  proxy.decide(({ number }) => (number === 1 ? 'drop' : number === 2 ? { status: 500 } : 'pass'))
  const events = record(createApi(transportOf(proxy.kubeconfig)))
  events.about(object).normal('Said', 'once')
  for (const tries of [1, 2]) {
    await expect.poll(() => [proxy.requests().length, clock.sleepers()]).toEqual([tries, 2])
    await clock.advance('5s')
  }
  await expect.poll(written).toHaveLength(1)
})

test('an Event whose answer was lost is not written twice, and its count follows', async () => {
  const { controlPlane, clock, object, written, record } = await world()
  await using proxy = await controlPlane.proxy()
  proxy.decide(({ number }) => (number === 1 ? 'lose' : 'pass'))
  const events = record(createApi(transportOf(proxy.kubeconfig)))
  events.about(object).normal('Said', 'unheard')
  await expect.poll(() => [proxy.requests().length, clock.sleepers()], PATIENCE).toEqual([1, 2])
  events.about(object).normal('Said', 'unheard')
  await clock.advance('5s')
  await expect.poll(async () => (await written()).map(({ series }) => series?.count), PATIENCE).toEqual([2])
})

test('an Event that was said once and is slow to write gets no count', async () => {
  const { controlPlane, clock, object, written, record } = await world()
  await using proxy = await controlPlane.proxy()
  const held = Promise.withResolvers<'pass'>()
  proxy.decide(() => held.promise)
  const events = record(createApi(transportOf(proxy.kubeconfig)))
  events.about(object).normal('Said', 'slowly')
  await expect.poll(() => proxy.requests().length, PATIENCE).toBe(1)
  await clock.advance('30s')
  await expect.poll(() => clock.sleepers(), PATIENCE).toBe(1)
  held.resolve('pass')
  await expect.poll(written, PATIENCE).toHaveLength(1)
  events.about(object).normal('Said', 'something else')
  await expect.poll(written, PATIENCE).toHaveLength(2)
  expect(proxy.requests().map(({ method }) => method)).toEqual(['POST', 'POST'])
})

test('an Event that the API server refuses is dropped, and the next one is written', async () => {
  const { namespace, object, written, record } = await world()
  const events = record()
  const gone = { ...object, metadata: { ...object.metadata, namespace: `${namespace}-not-there` } }
  events.about(gone).normal('Said', 'to nobody')
  events.about(object).normal('Said', 'läng '.repeat(400))
  await expect.poll(written).toHaveLength(1)
  expect(Buffer.byteLength((await written())[0]?.note ?? '')).toBe(1024)
})

test('closing with a dead API server gives up after the time allowed', async () => {
  const { controlPlane, clock, object, record } = await world()
  await using proxy = await controlPlane.proxy()
  const held = Promise.withResolvers<'drop'>()
  proxy.decide(() => held.promise)
  const events = record(createApi(transportOf(proxy.kubeconfig)))
  events.about(object).normal('Said', 'to nobody')
  await expect.poll(() => proxy.requests().length).toBe(1)
  let isClosed = false
  const closing = events.close('1s').then(() => {
    isClosed = true
  })
  await clock.advance('999ms')
  expect(isClosed).toBe(false)
  await clock.advance('1ms')
  await closing
  held.resolve('drop')
})

test('what is said about a cluster-scoped object goes to the default namespace', async () => {
  const { controlPlane, namespace, api, record } = await world()
  const events = record()
  events.about(await controlPlane.rest('GET', `/api/v1/namespaces/${namespace}`)).normal('Said', 'about a namespace')
  const about = { namespace: 'default', fieldSelector: `regarding.name=${namespace}` }
  await expect
    .poll(() => Array.fromAsync(api.list(EVENTS, about)))
    .toMatchObject([{ regarding: { kind: 'Namespace' } }])
})
