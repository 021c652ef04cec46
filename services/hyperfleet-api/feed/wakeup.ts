import type pg from 'pg'
import type { Logger } from '#operator/model/log.ts'
import type { Database } from '../storage/database.ts'

/**
 * Says "there may be something new" to whoever waits, in this process at once and in the others on the same PostgreSQL
 * by NOTIFY. A word may get lost (a connection breaks, a process dies after its commit), so nobody relies on it alone:
 * waiters also look by themselves every POLL milliseconds.
 */
export interface Wakeup {
  /** Wakes everyone, here and elsewhere. */
  wake(): void
  /** Calls back on every wake; returns how to stop. */
  onWake(listener: () => void): () => void
  close(): Promise<void>
}

/** How long a lost notification can delay anything, in milliseconds. */
export const POLL_INTERVAL_MS = 1_000

const CHANNEL = 'muster_hyperfleet'

export const createWakeup = (database: Database, log: Logger): Wakeup => {
  const listeners = new Set<() => void>()
  const wakeHere = () => {
    for (const listener of listeners) listener()
  }
  const notifications = database.pool === undefined ? undefined : connectNotifications(database.pool, wakeHere, log)
  return {
    wake: () => {
      wakeHere()
      notifications?.notify()
    },
    onWake: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: async () => {
      await notifications?.close()
    },
  }
}

interface NotificationChannel {
  notify(): void
  close(): Promise<void>
}

/**
 * One connection listens, the pool notifies. NOTIFY is sent after the commit and not inside it: PostgreSQL takes a
 * database-wide lock for transactions that notify, which would line all writers up behind each other's fsync.
 */
const connectNotifications = (pool: pg.Pool, onNotification: () => void, log: Logger): NotificationChannel => {
  let isClosed = false
  let isSending = false
  let isRequested = false
  let listening: pg.PoolClient | undefined
  let retry: NodeJS.Timeout | undefined

  const listen = async (): Promise<void> => {
    try {
      const client = await pool.connect()
      if (isClosed) return client.release()
      listening = client
      client.on('notification', onNotification)
      client.on('error', (error) => {
        if (listening !== client) return
        log.warn('the connection that listens for changes broke, polling until it is back', { error: error.message })
        listening = undefined
        client.release(error)
        retryListen()
      })
      await client.query(`listen ${CHANNEL}`)
      onNotification()
    } catch (error) {
      log.warn('can’t listen for changes, polling until it works', { error: messageOf(error) })
      retryListen()
    }
  }
  const retryListen = () => {
    if (!isClosed) retry = setTimeout(() => void listen(), POLL_INTERVAL_MS)
  }

  /** One NOTIFY at a time; wakes that come meanwhile share the next. */
  const send = async (): Promise<void> => {
    isSending = true
    while (isRequested && !isClosed) {
      isRequested = false
      try {
        await pool.query(`notify ${CHANNEL}`)
      } catch (error) {
        log.debug('a notification was not sent, the others find the change by polling', { error: messageOf(error) })
      }
    }
    isSending = false
  }

  void listen()
  return {
    notify: () => {
      isRequested = true
      if (!isSending) void send()
    },
    close: async () => {
      isClosed = true
      clearTimeout(retry)
      listening?.release(true)
    },
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
