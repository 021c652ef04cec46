import { describe, expect, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { postgresMissing } from '#test/harness/index.ts'
import { conditionsOf, freshPostgres, type Json, onBothDatabases, serve, type TestApi } from './support.ts'

/** Adapters report about one resource at once, and others change and delete it meanwhile: nothing is lost, nothing is half. */

const ADAPTERS = Array.from({ length: 8 }, (_, n) => `adapter-${n}`)
const entities = [{ kind: 'Cluster', plural: 'clusters', required_adapters: ADAPTERS }]

const time = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`

/** What is stored and what is shown say the same: as if the reports had come one after the other. */
const expectSettled = async (api: TestApi, path: string): Promise<Json> => {
  const { body: cluster } = await api.call('GET', path)
  const { items } = (await api.call('GET', `${path}/statuses`)).body
  const ready = items.filter(
    (status: Json) => status.observed_generation === cluster.generation && status.conditions[0].status === 'True',
  )
  const { Ready } = conditionsOf(cluster)
  expect(Ready).toMatchObject({
    status: ready.length === ADAPTERS.length ? 'True' : 'False',
    observed_generation: cluster.generation,
  })
  const newest = items
    .map((status: Json) => status.last_report_time)
    .sort()
    .at(-1)
  expect(cluster.status.lastTransitionTime).toBe(newest)
  for (const status of items) {
    const type = `${status.adapter.replace('adapter-', 'Adapter')}Successful`
    expect(conditionsOf(cluster)[type]).toMatchObject({
      status: status.conditions[0].status,
      observed_generation: status.observed_generation,
      last_updated_time: status.last_report_time,
    })
  }
  return cluster
}

/** The replicas take turns. */
const spread = (replicas: readonly TestApi[], index: number): TestApi => {
  const replica = replicas[index % replicas.length]
  if (replica === undefined) throw new Error('there is no replica')
  return replica
}

const scenarios = (begin: () => Promise<readonly TestApi[]>) => {
  const cluster = async () => {
    const replicas = await begin()
    const api = spread(replicas, 0)
    const { id } = await api.cluster('one')
    return { api, replicas, path: `/clusters/${id}` }
  }

  test('reports of many adapters at once all count', async () => {
    const { api, replicas, path } = await cluster()
    const answers = await Promise.all(
      ADAPTERS.flatMap((adapter, index) =>
        [1, 2, 3].map((second) =>
          spread(replicas, index + second).report(path, { adapter, observed_time: time(second) }),
        ),
      ),
    )
    expect(answers.filter(({ status }) => status !== 201 && status !== 204)).toEqual([])
    const settled = await expectSettled(api, path)
    expect([settled.status.phase, settled.status.lastTransitionTime]).toEqual(['Ready', '2026-01-01T00:00:03.000000Z'])
  })

  test('the newest report of an adapter stays, in whatever order its reports come', async () => {
    const { api, replicas, path } = await cluster()
    await Promise.all(
      Array.from({ length: 20 }, (_, second) =>
        spread(replicas, second).report(path, {
          adapter: 'adapter-0',
          observed_time: time(second),
          available: second % 2 === 0 ? 'True' : 'False',
          data: { second },
        }),
      ),
    )
    const { items } = (await api.call('GET', `${path}/statuses`)).body
    expect(items).toMatchObject([{ data: { second: 19 }, last_report_time: '2026-01-01T00:00:19.000000Z' }])
    await expectSettled(api, path)
  })

  test('reports and changes at once: every change counts, and Ready is about the last of them', async () => {
    const { api, replicas, path } = await cluster()
    const changes = Array.from({ length: 10 }, (_, n) => spread(replicas, n).call('PATCH', path, { spec: { n } }))
    const reports = ADAPTERS.flatMap((adapter, index) =>
      [1, 2, 3].map((generation) => spread(replicas, index).report(path, { adapter, observed_generation: generation })),
    )
    const answers = await Promise.all([...changes, ...reports])
    expect(answers.filter(({ status }) => status >= 400)).toEqual([])
    expect((await expectSettled(api, path)).generation).toBe(11)
  })

  test('reports and a deletion at once: it waits for all, and goes with the last', async () => {
    const { api, replicas, path } = await cluster()
    const answers = await Promise.all([
      ...ADAPTERS.map((adapter, index) => spread(replicas, index).report(path, { adapter })),
      spread(replicas, 1).call('DELETE', path),
    ])
    expect(answers.filter(({ status }) => status >= 400)).toEqual([])
    expect((await api.call('GET', path)).body).toMatchObject({ generation: 2, status: { phase: 'Deleting' } })
    const done = await Promise.all(
      ADAPTERS.map((adapter, index) =>
        spread(replicas, index).report(path, { adapter, observed_generation: 2, finalized: 'True' }),
      ),
    )
    expect(done.map(({ status }) => status)).toEqual(ADAPTERS.map(() => 201))
    expect((await api.call('GET', path)).status).toBe(404)
  })
}

onBothDatabases((fresh) => {
  describe('one server', () => {
    scenarios(async () => [await serve({ ...(await fresh()), entities })])
  })
})

describe.skipIf(findPostgres() === undefined)(
  `three replicas on one PostgreSQL${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
  () => {
    scenarios(async () => {
      const database = await freshPostgres()
      return [
        await serve({ ...database, entities }),
        await serve({ ...database, entities }),
        await serve({ ...database, entities }),
      ]
    })
  },
)
