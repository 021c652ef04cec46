import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import type { Clock } from '#operator/model/clock.ts'
import { type Duration, toMilliseconds } from '#operator/model/duration.ts'
import { silent } from '#operator/model/log.ts'
import { databaseQueue } from '#services/hyperfleet-api/events/database-queue.ts'
import { publishEvent } from '#services/hyperfleet-api/events/publish.ts'
import { createWakeup, POLL_INTERVAL_MS } from '#services/hyperfleet-api/feed/wakeup.ts'
import { timestampOf } from '#services/hyperfleet-api/model/timestamp.ts'
import { manualClock, postgresMissing } from '#test/harness/index.ts'
import { begin } from './heard-statements.ts'

const WAIT_MS = 600_000

/** The statement that looks for events for all claims that wait. */
const LOOK = /left join "event_deliveries"/
/** By which one claim takes events. */
const ATTEMPT = /for update of "delivery"/
/** The last but one of a claim that has got something. */
const TAKEN = /update "events" set "taken_time"/

/**
 * Claims that wait, by a clock that stands still: what they do is done because something happened, not because time went by.
 * @param max events that a claim takes
 */
const beginWaiting = async (waiting: number, max = 1) => {
  const { database, mutations, address, create, statements, holdAnswers } = await begin()
  const wakeup = createWakeup(database, silent)
  const clock = manualClock()
  /** Milliseconds of each pause between looks. */
  const pauses: number[] = []
  const heard: Clock = {
    ...clock,
    sleep: (duration: Duration, signal) => {
      const milliseconds = toMilliseconds(duration)
      if (milliseconds < WAIT_MS) pauses.push(milliseconds)
      return clock.sleep(duration, signal)
    },
  }
  const queue = databaseQueue({ database, wakeup, clock: heard, newId: randomUUID })
  await queue.putConsumer({ name: 'dns', kind: 'Cluster', selector: '', maxDeliveries: 5 }, timestampOf(clock.now()))
  const stop = new AbortController()
  const claims = Array.from({ length: waiting }, () =>
    queue.receive({ consumer: 'dns', max, wait: WAIT_MS, visibility: WAIT_MS }, stop.signal),
  )
  onTestFinished(async () => {
    stop.abort()
    await Promise.allSettled(claims)
    await wakeup.close()
  })
  /** The reasons of what each claim that has ended got. */
  const taken: string[][] = []
  for (const claim of claims)
    claim.then(
      (events) => taken.push(events.map(({ event }) => event.data.reason)),
      () => {},
    )
  const post = (reason: string, notifyCommitted = () => wakeup.wake('events')) =>
    publishEvent({ database, notifyCommitted, queue }, address, {
      reason,
      source: 'test',
      time: timestampOf(clock.now()),
    })
  const count = (sql: RegExp) => statements.filter(({ text }) => sql.test(text)).length
  /** So many claims wait, and the next look is the clock's affair. */
  const untilRest = (left: number) => expect.poll(clock.sleepers).toBe(left + 1)
  await untilRest(waiting)
  statements.length = 0
  return { database, mutations, wakeup, create, holdAnswers, post, count, pauses, taken, untilRest }
}

type Waiting = Awaited<ReturnType<typeof beginWaiting>>

/** Posts an event whose row another transaction has locked: the claim that takes it waits for PostgreSQL until that ends. */
const postLocked = async ({ database, wakeup, post, count }: Waiting, reason: string) => {
  await post(reason, () => {})
  const other = await database.pool?.connect()
  if (other === undefined) throw new Error('it is PostgreSQL')
  onTestFinished(() => other.release(true))
  await other.query('begin')
  await other.query('select from events for no key update')
  wakeup.wake('events')
  await expect.poll(() => count(TAKEN)).toBe(1)
  return { unlock: () => other.query('commit') }
}

describe.skipIf(findPostgres() === undefined)(
  `claims that wait on PostgreSQL${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
  () => {
    // API-85
    test('a change wakes none of 50, an event one, and one statement looks for all of them', async () => {
      const waiting = 50
      const { mutations, wakeup, create, post, count, taken, untilRest } = await beginWaiting(waiting)
      Object.assign(mutations, { notifyCommitted: () => wakeup.wake('changes') })
      for (let n = 0; n < 10; n += 1) await create(`cluster-${n}`)
      expect(count(LOOK)).toBe(0)
      await post('New')
      await expect.poll(() => taken).toEqual([['New']])
      await untilRest(waiting - 1)
      expect(count(ATTEMPT)).toBe(1)
      expect(count(LOOK)).toBeLessThan(10)
    })

    // API-85
    test('two events cost two attempts, also where a look that was asked before the first ended is answered after it', async () => {
      const world = await beginWaiting(20)
      const { holdAnswers, post, count, taken, untilRest } = world
      const first = await postLocked(world, 'First')
      const looks = holdAnswers(LOOK)
      await post('Second')
      await expect.poll(looks.count).toBe(1)
      await first.unlock()
      await expect.poll(() => taken).toEqual([['First']])
      looks.release()
      await expect.poll(() => taken).toEqual([['First'], ['Second']])
      await untilRest(18)
      expect(count(ATTEMPT)).toBe(2)
    })

    // API-85
    test('a database that lets a claim wait is not asked for others meanwhile', async () => {
      const world = await beginWaiting(20)
      const { count, pauses, taken, untilRest } = world
      pauses.length = 0
      const { unlock } = await postLocked(world, 'New')
      await expect.poll(() => pauses).toHaveLength(1)
      expect(pauses).toEqual([POLL_INTERVAL_MS])
      expect(count(ATTEMPT)).toBe(1)
      await unlock()
      await expect.poll(() => taken).toEqual([['New']])
      await untilRest(19)
      expect(count(ATTEMPT)).toBe(1)
    })

    // API-85
    test.each([
      ['is answered at once', false],
      ['is answered after it', true],
    ])(
      'what comes during an attempt that could have taken it, and did not, is taken once that ends, where a look meanwhile %s',
      async (_when, isHeld) => {
        const world = await beginWaiting(2, 5)
        const { holdAnswers, post, count, taken, pauses } = world
        const first = await postLocked(world, 'First')
        const looks = holdAnswers(LOOK)
        await post('Second')
        await expect.poll(looks.count).toBe(1)
        if (!isHeld) {
          const before = pauses.length
          looks.release()
          await expect.poll(() => pauses.length).toBe(before + 1)
        }
        await first.unlock()
        await expect.poll(() => taken[0]).toEqual(['First'])
        looks.release()
        await expect.poll(() => taken).toEqual([['First'], ['Second']])
        expect(count(ATTEMPT)).toBe(2)
      },
    )

    // API-85
    test('of many events posted at once each is taken, by as many attempts', async () => {
      const { post, count, taken } = await beginWaiting(12)
      const reasons = Array.from({ length: 12 }, (_, n) => `Reason${n}`)
      await Promise.all(reasons.map((reason) => post(reason)))
      await expect.poll(() => taken.flat().toSorted()).toEqual(reasons.toSorted())
      expect(count(ATTEMPT)).toBe(12)
    })
  },
)
