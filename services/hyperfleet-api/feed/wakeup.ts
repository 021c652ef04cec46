import type pg from 'pg'
import type { Logger } from '#operator/model/log.ts'
import type { Database } from '../storage/database.ts'

/**
 * Says "there may be something new" to all that wait, in this process at once and in the others on the same PostgreSQL
 * by NOTIFY. A word may get lost (a connection breaks, a process dies after its commit), so nothing relies on it alone:
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

export const createWakeup = (database: Pick<Database, 'pool'>, log: Logger): Wakeup => {
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
    client.on('notification', onNotification)
    client.on('error', release)
    if (isClosed) return release()
    try {
      await client.query(`listen ${CHANNEL}`)
      onNotification()
    } catch (error) {
      release(error)
    }
  }
  const retryListen = (error: unknown): void => {
    if (isClosed) return
    log.warn('not listening for changes, polling until it works again', { error: messageOf(error) })
    retry = setTimeout(() => void listen(), POLL_INTERVAL_MS)
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
      stopListening()
    },
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
