import { describe, expect, test } from 'vitest'
import { manualClock } from '#test/harness/index.ts'
import { onBothDatabases, serve, type TestApi } from './support.ts'

const CLAIMS = '/events/consumers/dns/claims'

const post = (api: TestApi, resourceId: string, reason = 'New') =>
  api.call('POST', '/events', { resourceType: 'clusters', resourceId, reason })

const claim = async (api: TestApi, body: object = {}) => (await api.call('POST', CLAIMS, body)).body.items

onBothDatabases((fresh) => {
  const begin = async () => {
    const clock = manualClock()
    const api = await serve(await fresh(), clock)
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters', maxDeliveries: 2 })
    const { id } = await api.cluster('one', { region: 'eu' })
    return { api, clock, id }
  }

  describe('posting', () => {
    // API-33
    test('answers a CloudEvent that names the resource, its generation and why', async () => {
      const { api, id } = await begin()
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
      const { status, body } = await api.call(
        'POST',
        '/events',
        { resourceType: 'clusters', resourceId: id, reason: 'SpecChanged' },
        { traceparent, 'user-agent': 'muster-sentinel/1 (eu)' },
      )
      expect(status).toBe(201)
      expect(body).toEqual({
        specversion: '1.0',
        id: `${id}.1`,
        type: 'com.redhat.hyperfleet.cluster.reconcile',
        source: 'muster-sentinel/1%20(eu)',
        subject: `/api/hyperfleet/v1/clusters/${id}`,
        time: '2026-01-01T00:00:00.000000Z',
        datacontenttype: 'application/json',
        traceparent,
        data: { id, kind: 'Cluster', href: `/api/hyperfleet/v1/clusters/${id}`, generation: 1, reason: 'SpecChanged' },
      })
    })

    test('the same again is answered with the waiting event, until a consumer takes it', async () => {
      const { api, id } = await begin()
      const first = await post(api, id)
      const again = await post(api, id)
      expect([again.status, again.body]).toEqual([200, first.body])
      expect((await post(api, id, 'SpecChanged')).status).toBe(201)
      await claim(api, { max: 10 })
      const next = await post(api, id)
      expect([next.status, next.body.id]).toEqual([201, `${id}.3`])
    })

    test('of another generation is another event', async () => {
      const { api, id } = await begin()
      await post(api, id)
      await api.call('PATCH', `/clusters/${id}`, { spec: { a: 1 } })
      expect((await post(api, id)).status).toBe(201)
    })

    test('twenty times at once is one event', async () => {
      const { api, id } = await begin()
      const answers = await Promise.all(Array.from({ length: 20 }, () => post(api, id)))
      expect(Object.groupBy(answers, ({ status }) => String(status))).toMatchObject({
        200: { length: 19 },
        201: { length: 1 },
      })
      expect(await claim(api, { max: 10 })).toHaveLength(1)
    })

    test.each([
      [{ resourceType: 'clusters', resourceId: 'nobody', reason: 'New' }, 404],
      [{ resourceType: 'nothings', resourceId: 'nobody', reason: 'New' }, 404],
      [{ resourceType: 'clusters', reason: 'New' }, 400],
      [{ resourceType: 'clusters', resourceId: 'x', reason: '' }, 400],
    ])('%o is %i', async (body, status) => {
      const { api } = await begin()
      expect((await api.call('POST', '/events', body)).status).toBe(status)
    })
  })

  describe('a consumer group', () => {
    test('gets what is posted from then on, for the resources that its selector chooses', async () => {
      const { api, id } = await begin()
      await post(api, id, 'Before')
      await api.call('PUT', '/events/consumers/eu', { resourceType: 'clusters', labels: 'region in (eu)' })
      await api.call('PUT', '/events/consumers/us', { resourceType: 'clusters', labels: 'region=us' })
      await api.call('PUT', '/events/consumers/pools', { resourceType: 'nodepools' })
      await post(api, id)
      const claimed = async (name: string) =>
        (await api.call('POST', `/events/consumers/${name}/claims`, { max: 10 })).body.items.map(
          ({ event }: { event: { data: { reason: string } } }) => event.data.reason,
        )
      expect(await claimed('dns')).toEqual(['Before', 'New'])
      expect(await claimed('eu')).toEqual(['New'])
      expect(await claimed('us')).toEqual([])
      expect(await claimed('pools')).toEqual([])
    })

    test('made after an event was posted gets it when the same is posted again', async () => {
      const { api, id } = await begin()
      await post(api, id)
      await api.call('PUT', '/events/consumers/late', { resourceType: 'clusters' })
      expect((await post(api, id)).status).toBe(200)
      expect((await api.call('POST', '/events/consumers/late/claims', {})).body.items).toHaveLength(1)
    })

    test('is made once, changed by putting it again, and forgotten when deleted', async () => {
      const { api } = await begin()
      const put = (settings: object) =>
        api.call('PUT', '/events/consumers/x', { resourceType: 'clusters', ...settings })
      expect((await put({})).status).toBe(201)
      expect(await put({ labels: 'b=c,a' })).toMatchObject({
        status: 200,
        body: { name: 'x', resourceType: 'clusters', labels: 'a,b=c', maxDeliveries: 10 },
      })
      expect((await put({ labels: 'a in (' })).status).toBe(400)
      expect((await put({ resourceType: 'nothings' })).status).toBe(400)
      expect((await api.call('DELETE', '/events/consumers/x')).status).toBe(204)
      expect((await api.call('DELETE', '/events/consumers/x')).status).toBe(404)
      expect((await api.call('POST', '/events/consumers/x/claims', {})).status).toBe(404)
      expect((await api.call('PUT', '/events/consumers/Not.OK', { resourceType: 'clusters' })).status).toBe(400)
    })
  })

  describe('a claim', () => {
    test('hides the event from the others of the group; acknowledged it never comes again', async () => {
      const { api, clock, id } = await begin()
      await post(api, id)
      const [{ receipt, deliveries }] = await claim(api, { visibility: '30s' })
      expect(deliveries).toBe(1)
      expect(await claim(api)).toEqual([])
      expect((await api.call('DELETE', `${CLAIMS}/${receipt}`)).status).toBe(204)
      expect((await api.call('DELETE', `${CLAIMS}/${receipt}`)).status).toBe(404)
      await clock.advance('1h')
      expect(await claim(api)).toEqual([])
    })

    test('that is not acknowledged in time is delivered again, and its receipt does nothing any more', async () => {
      const { api, clock, id } = await begin()
      await post(api, id)
      const [first] = await claim(api, { visibility: '30s' })
      await clock.advance('30s')
      expect((await api.call('DELETE', `${CLAIMS}/${first.receipt}`)).status).toBe(409)
      const [second] = await claim(api, { visibility: '30s' })
      expect(second).toMatchObject({ deliveries: 2, event: first.event })
      expect((await api.call('DELETE', `${CLAIMS}/${first.receipt}`)).status).toBe(409)
      expect((await api.call('PATCH', `${CLAIMS}/${first.receipt}`, { visibility: '1m' })).status).toBe(409)
      expect((await api.call('DELETE', `${CLAIMS}/${second.receipt}`)).status).toBe(204)
    })

    test('can be extended, and given back at once with 0s', async () => {
      const { api, clock, id } = await begin()
      await post(api, id)
      const [{ receipt }] = await claim(api, { visibility: '30s' })
      await clock.advance('20s')
      expect((await api.call('PATCH', `${CLAIMS}/${receipt}`, { visibility: '30s' })).status).toBe(204)
      await clock.advance('20s')
      expect(await claim(api)).toEqual([])
      expect((await api.call('PATCH', `${CLAIMS}/${receipt}`, { visibility: '0s' })).status).toBe(204)
      expect(await claim(api)).toHaveLength(1)
      expect((await api.call('DELETE', `${CLAIMS}/${receipt}`)).status).toBe(409)
    })

    test('waits until an event comes', async () => {
      const { api, id } = await begin()
      const waiting = claim(api, { wait: '20s' })
      await post(api, id)
      expect(await waiting).toHaveLength(1)
    })

    test('answers empty when nothing came in time', async () => {
      const { api, clock } = await begin()
      const waiting = claim(api, { wait: '20s' })
      const answered = waiting.then(() => true)
      // The clock moves until the long poll, which sleeps by it, has seen its deadline.
      for (let done = false; !done; done = await Promise.race([answered, Promise.resolve(false)]))
        await clock.advance('1s')
      expect(await waiting).toEqual([])
    })

    // API-75
    test('waits no longer for a clock that is set back meanwhile', async () => {
      const { api, clock } = await begin()
      const before = clock.sleepers()
      const waiting = claim(api, { wait: '20s' })
      // The claim, and what looks for all that wait.
      await expect.poll(() => clock.sleepers()).toBe(before + 2)
      clock.set(-86_400_000)
      await clock.advance('20s')
      expect(await waiting).toEqual([])
    })

    test('after too many deliveries the event is a dead letter, which can be read and replayed', async () => {
      const { api, clock, id } = await begin()
      await post(api, id)
      for (let n = 0; n < 2; n += 1) {
        expect(await claim(api, { visibility: '1s' })).toHaveLength(1)
        await clock.advance('1s')
      }
      expect(await claim(api)).toEqual([])
      const dead = await api.call('GET', '/events/consumers/dns/dead-letters')
      expect(dead.body.items).toMatchObject([{ id: `${id}.1`, deliveries: 2, event: { data: { id } } }])
      expect((await api.call('POST', `/events/consumers/dns/dead-letters/${id}.1/replay`)).status).toBe(204)
      expect(await claim(api)).toMatchObject([{ deliveries: 1 }])
      expect((await api.call('POST', `/events/consumers/dns/dead-letters/${id}.1/replay`)).status).toBe(404)
    })

    test('of many consumers at once delivers each event to one of them', async () => {
      const { api, id } = await begin()
      for (let n = 0; n < 20; n += 1) await post(api, id, `Reason${n}`)
      const claims = await Promise.all(Array.from({ length: 10 }, () => claim(api, { max: 5 })))
      const events = claims.flat().map(({ event }: { event: { id: string } }) => event.id)
      expect(events).toHaveLength(20)
      expect(new Set(events).size).toBe(20)
    })

    test.each([
      { max: 0 },
      { max: 101 },
      { wait: '61s' },
      { wait: 20 },
      { visibility: '0s' },
      { visibility: '13h' },
      { visibility: 'soon' },
      { vissibility: '1s' },
    ])('with %o is refused', async (body) => {
      const { api } = await begin()
      expect((await api.call('POST', CLAIMS, body)).status).toBe(400)
    })
  })
})
