/** Clusters in a HyperFleet API, by its HTTP interface. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { inParallel, upTo } from '../in-parallel.ts'
import { moment } from '../load/moment.ts'

const BASE = '/api/hyperfleet/v1'
const IN_FLIGHT = 16
const CONSUMER = `${BASE}/events/consumers/bench`

interface Claims {
  readonly items: readonly { readonly receipt: string; readonly event: { readonly data: { readonly id: string } } }[]
}

export interface Clusters {
  /** Creates so many more. */
  create(count: number): Promise<void>
  /**
   * Changes the specs of the first clusters, one each `everyMs`, and resolves with the milliseconds that each took from
   * the request until a consumer had its event.
   */
  change(count: number, everyMs: number): Promise<readonly number[]>
  close(): Promise<void>
}

export const openClusters = (url: string): Clusters => {
  const pool = new Pool(url, { connections: IN_FLIGHT + 1, allowH2: false })
  const ids: string[] = []

  const call = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<unknown> => {
    const response = await pool.request({
      method,
      path,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.body.text()
    if (response.statusCode >= 300)
      throw new Error(`${method} ${path} answered ${response.statusCode}: ${text.slice(0, 300)}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  return {
    create: async (count) => {
      const first = ids.length
      const made = await inParallel(upTo(count), IN_FLIGHT, async (index) => {
        const body = { kind: 'Cluster', name: `c-${first + index}`, labels: { region: 'us-east' }, spec: { size: 1 } }
        const { id } = (await call('POST', `${BASE}/clusters`, body)) as { id: string }
        return id
      })
      ids.push(...made)
    },
    change: async (count, everyMs) => {
      await call('PUT', CONSUMER, { resourceType: 'clusters' })
      const arrived = new Map<string, number>()
      const sent: Promise<number>[] = []
      const wanted = ids.slice(0, count)
      const receive = async (): Promise<void> => {
        while (arrived.size < wanted.length) {
          const { items } = (await call('POST', `${CONSUMER}/claims`, {
            max: 100,
            wait: '20s',
            visibility: '10m',
          })) as Claims
          const at = moment()
          for (const { event } of items) if (!arrived.has(event.data.id)) arrived.set(event.data.id, at)
        }
      }
      const receiving = receive()
      const start = moment()
      for (const [index, id] of wanted.entries()) {
        await sleep(Math.max(0, start + index * everyMs - moment()))
        const at = moment()
        sent.push(call('PATCH', `${BASE}/clusters/${id}`, { spec: { size: 2 + index } }).then(() => at))
      }
      const sentAt = await Promise.all(sent)
      await receiving
      await call('DELETE', CONSUMER)
      return wanted.map((id, index) => (arrived.get(id) ?? Number.NaN) - (sentAt[index] ?? Number.NaN))
    },
    close: () => pool.destroy(),
  }
}
