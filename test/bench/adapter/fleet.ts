/** Clusters whose way from POST to Ready and from DELETE to gone is timed, as a client of the HyperFleet API sees it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { inParallel, upTo } from '../in-parallel.ts'
import { moment } from '../load/moment.ts'
import type { Shape } from './ground.ts'

const BASE = '/api/hyperfleet/v1'
const IN_FLIGHT = 16
/** How often one cluster is looked at, and many. */
const LOOK_MS = 2
const LOOK_AT_ALL_MS = 25
const DEADLINE_MS = 300_000

export interface Fleet {
  create(shape: Shape): Promise<string>
  /** Milliseconds from an event until the task's first report about the cluster. */
  eventUntilReport(id: string): Promise<number>
  /** Milliseconds from the POST; the cluster's id. */
  createUntilReady(shape: Shape): Promise<{ readonly id: string; readonly took: number }>
  /** Milliseconds from the DELETE until the record is gone. */
  deleteUntilGone(id: string): Promise<number>
  /** Milliseconds from the answer to the last request until all are. */
  createMany(shape: Shape, count: number): Promise<{ readonly ids: readonly string[]; readonly took: number }>
  deleteMany(ids: readonly string[]): Promise<number>
  close(): Promise<void>
}

interface Cluster {
  readonly id: string
  readonly status: { readonly phase: string }
}

export const openFleet = (url: string): Fleet => {
  const pool = new Pool(url, { connections: IN_FLIGHT + 1, allowH2: false })
  let made = 0

  /** Undefined for 404. */
  const call = async <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T | undefined> => {
    const answer = await pool.request({
      method,
      path: BASE + path,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.body.text()
    if (answer.statusCode === 404) return undefined
    if (answer.statusCode >= 300) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  const until = async (holds: () => Promise<boolean>, every: number, what: string): Promise<number> => {
    const deadline = moment() + DEADLINE_MS
    while (!(await holds())) {
      if (moment() > deadline) throw new Error(`${what} did not come to be within ${DEADLINE_MS / 1000} s`)
      await sleep(every)
    }
    return moment()
  }

  const create = async (shape: Shape): Promise<string> => {
    const body = { kind: 'Cluster', name: `c-${made++}`, labels: { shape }, spec: { size: 1 } }
    const cluster = await call<Cluster>('POST', '/clusters', body)
    if (cluster === undefined) throw new Error('the API has no clusters')
    return cluster.id
  }
  const isReady = async (id: string) => (await call<Cluster>('GET', `/clusters/${id}`))?.status.phase === 'Ready'
  const isGone = async (id: string) => (await call('GET', `/clusters/${id}`)) === undefined
  const remaining = (ids: readonly string[], isDone: (id: string) => Promise<boolean>) => {
    let left = ids
    return async () => {
      const done = await inParallel(left, IN_FLIGHT, isDone)
      left = left.filter((_, at) => done[at] !== true)
      return left.length === 0
    }
  }

  return {
    create,
    async eventUntilReport(id) {
      const began = moment()
      await call('POST', '/events', { resourceType: 'clusters', resourceId: id, reason: 'Bench' })
      const reported = async () => {
        const statuses = await call<{ items: readonly unknown[] }>('GET', `/clusters/${id}/statuses`)
        return (statuses?.items.length ?? 0) > 0
      }
      return (await until(reported, LOOK_MS, 'the report')) - began
    },
    async createUntilReady(shape) {
      const began = moment()
      const id = await create(shape)
      return { id, took: (await until(() => isReady(id), LOOK_MS, 'Ready')) - began }
    },
    async deleteUntilGone(id) {
      const began = moment()
      await call('DELETE', `/clusters/${id}`)
      return (await until(() => isGone(id), LOOK_MS, 'the end of a deletion')) - began
    },
    async createMany(shape, count) {
      const ids = await inParallel(upTo(count), IN_FLIGHT, () => create(shape))
      const sent = moment()
      return { ids, took: (await until(remaining(ids, isReady), LOOK_AT_ALL_MS, 'Ready of all')) - sent }
    },
    async deleteMany(ids) {
      await inParallel(ids, IN_FLIGHT, (id) => call('DELETE', `/clusters/${id}`))
      const sent = moment()
      return (await until(remaining(ids, isGone), LOOK_AT_ALL_MS, 'the end of all deletions')) - sent
    },
    close: () => pool.destroy(),
  }
}
