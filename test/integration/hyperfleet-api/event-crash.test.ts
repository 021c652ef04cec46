import { describe, expect, onTestFinished, test } from 'vitest'
import { grounds, killAtEveryStatement, type Remains } from '#test/harness/index.ts'
import { type Json, requestTo } from './support.ts'

/** A process is started for every statement, which takes its time on a busy machine. */
const PATIENCE = 900_000

/** A cluster, and a consumer group of its own. */
interface QueueState {
  readonly cluster: string
  readonly group: string
  /** Of the claimed event, where the mutation begins with a claim. */
  readonly receipt?: string
}

const prepare = async (url: string, round: number): Promise<QueueState> => {
  const request = requestTo(url)
  const group = `group-${round}`
  await request('PUT', `/events/consumers/${group}`, { resourceType: 'clusters', labels: `round=${round}` })
  const labels = { round: String(round) }
  const { body } = await request('POST', '/clusters', { name: `cluster-${round}`, labels, spec: {} })
  return { cluster: body.id, group }
}

const post = (url: string, { cluster }: QueueState) =>
  requestTo(url)('POST', '/events', { resourceType: 'clusters', resourceId: cluster, reason: 'New' })

const claim = async (url: string, { group }: QueueState, body: object): Promise<Json[]> =>
  (await requestTo(url)('POST', `/events/consumers/${group}/claims`, body)).body.items

const prepareEvent = async (url: string, round: number): Promise<QueueState> => {
  const state = await prepare(url, round)
  expect((await post(url, state)).status).toBe(201)
  return state
}

const prepareClaim = async (url: string, round: number): Promise<QueueState> => {
  const state = await prepareEvent(url, round)
  const [{ receipt }] = await claim(url, state, { visibility: '1h' })
  return { ...state, receipt }
}

/** How many deliveries the group has, after seeing that no event or delivery stands alone. */
const deliveriesOf = async ({ rows }: Pick<Remains<QueueState, unknown>, 'rows'>, { cluster, group }: QueueState) => {
  const events = await rows(`select sequence from events where resource_id = '${cluster}'`)
  const counted = await rows(`select event_count from resources where id = '${cluster}'`)
  expect(counted).toEqual([{ event_count: events.length }])
  const deliveries = await rows(`select event_sequence from event_deliveries where consumer = '${group}'`)
  for (const { event_sequence } of deliveries) expect(events).toContainEqual({ sequence: event_sequence })
  return deliveries.length
}

for (const { name, skip, ground } of grounds)
  describe.skipIf(skip)(`killed at every statement on ${name}`, () => {
    const begin = async () => {
      const database = await ground()
      onTestFinished(() => database[Symbol.asyncDispose]())
      return database
    }

    test('posting an event stores it with its deliveries or not at all', { timeout: PATIENCE }, async () => {
      const outcomes = new Set<number>()
      const statements = await killAtEveryStatement<QueueState, number>(await begin(), {
        prepare,
        mutate: async (url, state) => (await post(url, state)).status,
        check: async ({ prepared: state, answer, rows, restart }) => {
          const deliveries = await deliveriesOf({ rows }, state)
          if (answer !== undefined) expect([answer, deliveries]).toEqual([201, 1])
          outcomes.add(deliveries)
          const url = await restart()
          expect((await post(url, state)).status).toBe(deliveries === 0 ? 201 : 200)
          expect(await claim(url, state, { max: 10 })).toHaveLength(1)
        },
      })
      expect([...outcomes]).toEqual([0, 1])
      expect(statements.at(-1)).toMatch(/^commit/i)
    })

    test('a claim whose answer was lost is delivered again', { timeout: PATIENCE }, async () => {
      const outcomes = new Set<number>()
      await killAtEveryStatement<QueueState, Json[]>(await begin(), {
        prepare: prepareEvent,
        mutate: (url, state) => claim(url, state, { visibility: '1s' }),
        check: async ({ prepared: state, answer, rows, restart }) => {
          expect(await deliveriesOf({ rows }, state)).toBe(1)
          if (answer !== undefined) expect(answer).toMatchObject([{ deliveries: 1 }])
          const again = await claim(await restart(), state, { wait: '60s', visibility: '1h' })
          expect(again).toMatchObject([{ event: { data: { id: state.cluster } } }])
          outcomes.add(again[0].deliveries)
          if (answer !== undefined) expect(again[0].deliveries).toBe(2)
        },
      })
      expect([...outcomes]).toEqual([1, 2])
    })

    test('an acknowledgement is done or not, and once answered it is', { timeout: PATIENCE }, async () => {
      const outcomes = new Set<number>()
      await killAtEveryStatement<QueueState, number>(await begin(), {
        prepare: prepareClaim,
        mutate: async (url, { group, receipt }) =>
          (await requestTo(url)('DELETE', `/events/consumers/${group}/claims/${receipt}`)).status,
        check: async ({ prepared: state, answer, rows, restart }) => {
          const deliveries = await deliveriesOf({ rows }, state)
          if (answer !== undefined) expect([answer, deliveries]).toEqual([204, 0])
          outcomes.add(deliveries)
          const { group, receipt } = state
          const again = await requestTo(await restart())('DELETE', `/events/consumers/${group}/claims/${receipt}`)
          expect(again.status).toBe(deliveries === 0 ? 404 : 204)
        },
      })
      expect([...outcomes]).toEqual([1, 0])
    })

    test('giving back is done or not: the event is the claimer’s or everyone’s', { timeout: PATIENCE }, async () => {
      const outcomes = new Set<string>()
      await killAtEveryStatement<QueueState, number>(await begin(), {
        prepare: prepareClaim,
        mutate: async (url, { group, receipt }) =>
          (await requestTo(url)('PATCH', `/events/consumers/${group}/claims/${receipt}`, { visibility: '0s' })).status,
        check: async ({ prepared: state, answer, rows, restart }) => {
          expect(await deliveriesOf({ rows }, state)).toBe(1)
          const url = await restart()
          const isBack = (await claim(url, state, { visibility: '1h' })).length === 1
          if (answer !== undefined) expect([answer, isBack]).toEqual([204, true])
          outcomes.add(isBack ? 'everyone’s' : 'the claimer’s')
          const { group, receipt } = state
          const extended = await requestTo(url)('PATCH', `/events/consumers/${group}/claims/${receipt}`, {
            visibility: '2h',
          })
          expect(extended.status).toBe(isBack ? 409 : 204)
        },
      })
      expect([...outcomes]).toEqual(['the claimer’s', 'everyone’s'])
    })
  })
