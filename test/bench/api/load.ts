/** Requests as fast as they are answered, so many at a time, and what they cost both sides. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { moment } from '../load/moment.ts'
import { percentile } from '../measure/statistics.ts'

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  readonly path: string
  readonly body?: object
}

export interface Measured {
  /** Requests a second. */
  readonly rate: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly longest: number
  readonly apiCpuMs: number
  /** Of a database with processes of its own. */
  readonly databaseCpuMs: number | undefined
}

export interface Load {
  /** The parsed answer. @throws when it is no success */
  request(call: Call): Promise<unknown>
  /** An answer may be without a body. @throws when it is no success */
  send(call: Call): Promise<void>
  /** Makes the n-th call again and again, for so many seconds after a warm-up. CPU is per request. */
  measure(next: (n: number) => Call): Promise<Measured>
  close(): Promise<void>
}

/** Requests under way at a time. */
export const IN_FLIGHT = 8

const WARM_UP_MS = 1_000
const WINDOW_MS = 4_000

/** CPU so far, milliseconds. */
export interface Meters {
  api(): number
  /** Of a database with processes of its own. */
  readonly database?: () => Promise<number>
}

export const openLoad = (url: string, meters: Meters): Load => {
  const pool = new Pool(url, { connections: IN_FLIGHT, allowH2: false })

  const send = async ({ method, path, body }: Call): Promise<string> => {
    const response = await pool.request({
      method,
      path: `/api/hyperfleet/v1${path}`,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const text = await response.body.text()
    if (response.statusCode >= 300)
      throw new Error(`${method} ${path} answered ${response.statusCode}: ${text.slice(0, 300)}`)
    return text
  }

  return {
    request: async (call) => JSON.parse(await send(call)) as unknown,
    send: async (call) => void (await send(call)),
    measure: async (next) => {
      let n = 0
      let isOver = false
      const took: { at: number; ms: number }[] = []
      const work = async (): Promise<void> => {
        while (!isOver) {
          const at = moment()
          await send(next(n++))
          took.push({ at, ms: moment() - at })
        }
      }
      const workers = Promise.all(Array.from({ length: IN_FLIGHT }, work))
      await Promise.race([sleep(WARM_UP_MS), workers])
      const [from, api, database] = [moment(), meters.api(), await meters.database?.()]
      await Promise.race([sleep(WINDOW_MS), workers])
      const [to, apiAfter, databaseAfter] = [moment(), meters.api(), await meters.database?.()]
      isOver = true
      await workers
      const counted = took.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms)
      return {
        rate: (counted.length * 1000) / (to - from),
        p50: percentile(counted, 0.5),
        p99: percentile(counted, 0.99),
        longest: Math.max(...counted),
        apiCpuMs: (apiAfter - api) / counted.length,
        databaseCpuMs:
          database === undefined || databaseAfter === undefined
            ? undefined
            : (databaseAfter - database) / counted.length,
      }
    },
    close: () => pool.destroy(),
  }
}
