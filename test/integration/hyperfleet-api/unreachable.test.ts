import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { systemClock } from '#operator/model/clock.ts'
import { tcpProxy } from '#test/harness/index.ts'
import { freshPostgres, serve } from './support.ts'

// API-97
test.skipIf(findPostgres() === undefined)(
  'a PostgreSQL that can’t be reached and is not replaced: statements under way are given up long before the 30 s that they may take, and it goes on once it is back',
  { timeout: 180_000 },
  async () => {
    const { databaseUrl } = await freshPostgres()
    const proxy = await tcpProxy(databaseUrl)
    onTestFinished(() => proxy.stop())
    const api = await serve({ databaseUrl: proxy.url }, systemClock)
    const { id } = await api.cluster('one')
    const read = () => api.call('GET', `/clusters/${id}`)
    expect((await read()).status).toBe(200)
    proxy.hold()
    const askedAt = performance.now()
    const [one, two] = await Promise.all([read(), api.call('PATCH', `/clusters/${id}`, { spec: { n: 1 } })])
    expect([one.status, two.status]).toEqual([503, 503])
    expect(performance.now() - askedAt).toBeLessThan(25_000)
    proxy.release()
    while ((await read()).status !== 200) await delay(100)
  },
)
