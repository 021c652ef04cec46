import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { systemClock } from '#operator/model/clock.ts'
import { postgresMissing, tcpProxy } from '#test/harness/index.ts'
import { freshPostgres, serve } from './support.ts'

/** An API behind a proxy, and a cluster to read. */
const start = async () => {
  const { databaseUrl } = await freshPostgres()
  const proxy = await tcpProxy(databaseUrl)
  onTestFinished(() => proxy.stop())
  const api = await serve({ databaseUrl: proxy.url }, systemClock)
  const { id } = await api.cluster('one')
  const read = async () => (await api.call('GET', `/clusters/${id}`)).status
  expect(await read()).toBe(200)
  return {
    databaseUrl,
    proxy,
    read,
    change: async () => (await api.call('PATCH', `/clusters/${id}`, { spec: { n: 1 } })).status,
    untilBack: async () => {
      while ((await read()) !== 200) await delay(100)
    },
  }
}

describe.skipIf(findPostgres() === undefined)(
  `a PostgreSQL that can’t be reached and is not replaced${postgresMissing() ?? ''}`,
  { timeout: 180_000 },
  () => {
    // API-97
    test('statements under way are given up long before the 30 s that they may take, and it goes on once it is back', async () => {
      const { proxy, read, change, untilBack } = await start()
      proxy.hold()
      const askedAt = performance.now()
      expect(await Promise.all([read(), change()])).toEqual([503, 503])
      expect(performance.now() - askedAt).toBeLessThan(25_000)
      proxy.release()
      await untilBack()
    })

    // API-97
    test('and so is what a connection asks that is just made', async () => {
      const { databaseUrl, proxy, read, untilBack } = await start()
      const other = new Client({ connectionString: databaseUrl })
      await other.connect()
      onTestFinished(() => other.end())
      // Every new connection reads this table before it is used.
      await other.query('begin; lock table change_history in access exclusive mode')
      proxy.cut()
      const waiting: Promise<number>[] = []
      const areWaiting = async () => {
        waiting.push(read())
        await other.query('select pg_stat_clear_snapshot()')
        const beginning = `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'select run <>%'`
        return (await other.query(beginning)).rowCount
      }
      await expect.poll(areWaiting).toBeGreaterThan(1)
      proxy.hold()
      expect(new Set(await Promise.all(waiting))).toEqual(new Set([503]))
      await other.query('rollback')
      proxy.release()
      await untilBack()
    })
  },
)
