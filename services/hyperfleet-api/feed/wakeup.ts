import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { messageOf } from '#lib/errors/message-of.ts'
import { detach } from '#lib/process/detach.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Database } from '../storage/database.ts'

/**
 * Says "there may be something new" to all that wait for it, in this process at once and in the others on the same
 * PostgreSQL by NOTIFY. A word may get lost (a connection breaks, a process dies after its commit), so nothing relies on it
 * alone: waiters also look by themselves every POLL milliseconds. What only changed resources wakes no claim for events,
 * and a process does not wake to its own NOTIFY (API-85).
 */
export interface Wakeup {
  /** Wakes all that wait for this, here and elsewhere. */
  wake(topic: WakeTopic): void
  /** Calls back on every wake; returns how to stop. */
  onWake(topic: WakeTopic, listener: () => void): () => void
  close(): Promise<void>
}

export type WakeTopic = 'changes' | 'events'

/** How long a lost notification can delay anything, in milliseconds. */
export const POLL_INTERVAL_MS = 1_000

/** Its payload is `<topic> <sender>`; without one it is of a version that had no topics. */
const CHANNEL = 'muster_hyperfleet'

export const createWakeup = (database: Pick<Database, 'pool'>, log: Logger): Wakeup => {
  const listeners = { changes: new Set<() => void>(), events: new Set<() => void>() }
  const sender = randomUUID()
  const wakeHere = (topic: WakeTopic) => {
    for (const listener of listeners[topic]) listener()
  }
  const onNotification = (payload: string) => {
    const [topic = '', from] = payload.split(' ')
    if (from === sender) return
    if (topic !== 'events') wakeHere('changes')
    if (topic !== 'changes') wakeHere('events')
  }
  const notifications =
    database.pool === undefined ? undefined : connectNotifications(database.pool, sender, onNotification, log)
  return {
    wake: (topic) => {
      wakeHere(topic)
      notifications?.notify(topic)
    },
    onWake: (topic, listener) => {
      listeners[topic].add(listener)
      return () => listeners[topic].delete(listener)
    },
    close: async () => {
      await notifications?.close()
    },
  }
}

interface NotificationChannel {
  notify(topic: WakeTopic): void
  close(): Promise<void>
}

/**
 * One connection listens, the pool notifies. NOTIFY is sent after the commit and not inside it: PostgreSQL takes a
 * database-wide lock for transactions that notify, which would line all writers up behind each other's fsync.
 */
const connectNotifications = (
  pool: pg.Pool,
  sender: string,
  onNotification: (payload: string) => void,
  log: Logger,
): NotificationChannel => {
  let isClosed = false
  let isSending = false
  const requested = new Set<WakeTopic>()
  let retry: NodeJS.Timeout | undefined
  let stopListening = (): void => undefined

  const listen = async (): Promise<void> => {
    let client: pg.PoolClient
    try {
      client = await pool.connect()
    } catch (error) {
      return retryListen(error)
    }
    let isReleased = false
    /** A connection can break while it is asked to listen or is closed: it is released once, and one attempt follows. */
    const release = (error?: unknown): void => {
      if (isReleased) return
      isReleased = true
      client.release(true)
      if (error !== undefined) retryListen(error)
    }
    stopListening = release
    client.on('notification', ({ payload }) => onNotification(payload ?? ''))
    client.on('error', release)
    if (isClosed) return release()
    try {
      await client.query(`listen ${CHANNEL}`)
      // For what was told while nothing listened.
      onNotification('')
    } catch (error) {
      release(error)
    }
  }
  const beginListening = () => detach('listening for changes', listen())
  const retryListen = (error: unknown): void => {
    if (isClosed) return
    log.warn('not listening for changes, polling until it works again', { error: messageOf(error) })
    retry = setTimeout(beginListening, POLL_INTERVAL_MS)
  }

  /** One NOTIFY at a time; wakes that come meanwhile share the next of their topic. */
  const send = async (): Promise<void> => {
    isSending = true
    for (const topic of requested) {
      if (isClosed) break
      requested.delete(topic)
      try {
        await pool.query(`notify ${CHANNEL}, '${topic} ${sender}'`)
      } catch (error) {
        log.debug('a notification was not sent, the others find the change by polling', { error: messageOf(error) })
      }
    }
    isSending = false
  }

  beginListening()
  return {
    notify: (topic) => {
      requested.add(topic)
      if (!isSending) detach('notifying other processes', send())
    },
    close: async () => {
      isClosed = true
      clearTimeout(retry)
      stopListening()
    },
  }
}
