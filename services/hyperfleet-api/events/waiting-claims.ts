import { setTimeout as delay } from 'node:timers/promises'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'
import { POLL_INTERVAL_MS, type Wakeup } from '../feed/wakeup.ts'
import { momentOf } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'
import type { SharedTime } from '../storage/shared-time.ts'
import type { ReceiveRequest } from './queue.ts'

/**
 * The claims of one process that found nothing and wait. One statement looks for all of them, however many there are: when
 * an event was posted, when a hidden one shows up, and each POLL_INTERVAL_MS. Only as many as there is something for go on
 * to claim it (API-85).
 */
export interface WaitingClaims {
  /**
   * Resolves when there may be something, the group is gone or the database fails, at the end of the time, or when aborted.
   * @returns the claim's turn, to be ended when it has looked: what it may take wakes no other until then, however long that
   * is. What it left is looked for then
   */
  wait(claim: Pick<ReceiveRequest, 'consumer' | 'max'>, milliseconds: number, signal: AbortSignal): Promise<Disposable>
}

export interface WaitingClaimsOptions {
  readonly database: Database
  readonly wakeup: Pick<Wakeup, 'onWake'>
  readonly clock: Clock
  readonly time: SharedTime
}

interface Waiter {
  readonly max: number
  readonly wake: () => void
}

/** Milliseconds between looks at least, also when rows are visible but held by another process that has not committed yet. */
const MIN_PAUSE_MS = 10

export const createWaitingClaims = ({ database, wakeup, clock, time }: WaitingClaimsOptions): WaitingClaims => {
  const groups = new Map<string, Set<Waiter>>()
  /** By group, how many events the claims whose turn it is may take. */
  const inTurn = new Map<string, number>()
  const addInTurn = (consumer: string, max: number): void => {
    const left = (inTurn.get(consumer) ?? 0) + max
    if (left === 0) inTurn.delete(consumer)
    else inTurn.set(consumer, left)
  }
  let isRunning = false
  let isRequested = false
  let pause: AbortScope | undefined

  /** @returns milliseconds until the next look */
  const look = async (): Promise<number> => {
    // A turn may end before the answer comes, and what it took be among what is counted.
    const asked = [...groups].map(([consumer, waiters]) => ({ consumer, waiters, promised: inTurn.get(consumer) ?? 0 }))
    const names = asked.map(({ consumer }) => consumer)
    const states = await readGroupStates(database, names, time)
    for (const { consumer, waiters, promised } of asked) {
      // A group that is gone is told by each claim itself.
      let unclaimed = (states.get(consumer)?.visible ?? Number.POSITIVE_INFINITY) - promised
      for (const { max, wake } of waiters) {
        if (unclaimed <= 0) break
        unclaimed -= max
        wake()
      }
    }
    return Math.min(POLL_INTERVAL_MS, ...[...states.values()].map(({ nextVisible }) => nextVisible))
  }
  const run = async (): Promise<void> => {
    isRunning = true
    while (groups.size > 0) {
      isRequested = false
      const next = await look().catch(() => {
        // Each asks the database itself then, and is told what is wrong with it.
        for (const waiters of groups.values()) for (const { wake } of waiters) wake()
        return POLL_INTERVAL_MS
      })
      // Those that were woken take what there is before it is counted again.
      await delay(MIN_PAUSE_MS)
      if (isRequested) continue
      using scope = new AbortScope()
      pause = scope
      await clock.sleep(next, scope.signal)
    }
    isRunning = false
  }
  const requestLook = () => {
    isRequested = true
    pause?.abort()
    if (!isRunning && groups.size > 0) detach('looking for events for claims that wait', run())
  }
  wakeup.onWake('events', requestLook)
  return {
    wait: async ({ consumer, max }, milliseconds, signal) => {
      const ready = Promise.withResolvers<void>()
      let isWoken = false
      const wake = () => {
        if (!isWoken) addInTurn(consumer, max)
        isWoken = true
        ready.resolve()
      }
      const waiter = { max, wake }
      const waiters = groups.get(consumer) ?? new Set()
      groups.set(consumer, waiters.add(waiter))
      // It begins after the claim's own look: nothing that was posted in between is missed.
      requestLook()
      using limit = new AbortScope(signal)
      await Promise.race([ready.promise, clock.sleep(milliseconds, limit.signal)])
      waiters.delete(waiter)
      if (waiters.size === 0 && groups.get(consumer) === waiters) groups.delete(consumer)
      if (groups.size === 0) pause?.abort()
      return {
        [Symbol.dispose]: () => {
          if (!isWoken) return
          addInTurn(consumer, -max)
          requestLook()
        },
      }
    },
  }
}

/** What a group has that is not done with. */
interface GroupState {
  readonly visible: number
  /** Milliseconds until the next one shows up. */
  readonly nextVisible: number
}

/** Of the groups that there are, by name. */
const readGroupStates = async (
  { kysely }: Database,
  names: readonly string[],
  time: SharedTime,
): Promise<ReadonlyMap<string, GroupState>> => {
  const rows = await kysely
    .selectFrom('event_consumers as group')
    .leftJoin('event_deliveries as delivery', (join) =>
      join.onRef('delivery.consumer', '=', 'group.name').on('delivery.dead_time', 'is', null),
    )
    .select(({ fn }) => [
      'group.name',
      fn.count('delivery.consumer').filterWhere('delivery.visible_time', '<=', time.at()).as('visible'),
      fn.min('delivery.visible_time').filterWhere('delivery.visible_time', '>', time.at()).as('next'),
      time.at().as('now'),
    ])
    .where('group.name', 'in', names)
    .groupBy('group.name')
    .execute()
  return new Map(
    rows.map(({ name, visible, next, now }) => [
      name,
      {
        visible: Number(visible),
        nextVisible: next === null ? POLL_INTERVAL_MS : momentOf(next).getTime() - momentOf(now).getTime(),
      },
    ]),
  )
}
