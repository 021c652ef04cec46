/** The API and NATS are killed under load, with JetStream as the queue. */
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { postgresMissing, startMuster, startNats } from '#test/harness/index.ts'
import { type Answer, freshPostgres, requestTo } from './support.ts'

const NOWHERE = ['--bind-address=127.0.0.1:0', '--metrics-bind-address=0', '--health-probe-bind-address=0']
const GROUP = '/events/consumers/load'

/** A replica that can be killed, and then is another process of the same. */
const startReplica = async (args: readonly string[]) => {
  const begin = async () => {
    const running = await startMuster(['api', ...NOWHERE, ...args])
    const { url } = await running.line('the HyperFleet API is serving')
    return { running, call: requestTo(`${String(url)}/api/hyperfleet/v1`) }
  }
  let present = await begin()
  onTestFinished(() => present.running.stop().then(() => undefined))
  return {
    /** What is not answered is undefined. */
    call: async (...request: Parameters<typeof present.call>): Promise<Answer | undefined> => {
      const answer = await present.call(...request).catch(() => undefined)
      if (answer === undefined || answer.status >= 500) await delay(20)
      return answer
    },
    kill: async () => {
      present.running.signal('SIGKILL')
      await present.running.exited
      present = await begin()
    },
  }
}

type Replica = Awaited<ReturnType<typeof startReplica>>

/** Posters that ask for one event after the other, each about a cluster of its own, and a consumer that acknowledges them. */
const startLoad = (replicas: readonly Replica[], clusters: readonly string[]) => {
  /** By the id of the event: when it was asked for and when it first came, in the order of everything that happened. */
  const posted = new Map<string, { readonly cluster: string; readonly at: number }>()
  const delivered = new Map<string, number>()
  const acknowledged = new Set<string>()
  const refused = new Set<number>()
  let moment = 0
  let isPosting = true
  onTestFinished(() => {
    isPosting = false
  })
  const replicaOf = (n: number) => replicas[n % replicas.length] as Replica

  const post = async (cluster: string, n: number): Promise<void> => {
    const at = moment++
    for (let attempt = 0; ; attempt += 1) {
      const body = { resourceType: 'clusters', resourceId: cluster, reason: `Reason${n}` }
      const answer = await replicaOf(n + attempt).call('POST', '/events', body)
      if (answer !== undefined && answer.status < 300) {
        posted.set(answer.body.id, { cluster, at })
        return
      }
      if (answer !== undefined) refused.add(answer.status)
    }
  }
  const consume = async (n: number): Promise<void> => {
    const claims = await replicaOf(n).call('POST', `${GROUP}/claims`, { max: 5, wait: '1s', visibility: '2s' })
    if (claims !== undefined && claims.status >= 300) refused.add(claims.status)
    for (const { receipt, event } of claims?.body.items ?? []) {
      expect(acknowledged.has(event.id), `${event.id} was acknowledged and is delivered again`).toBe(false)
      if (!delivered.has(event.id)) delivered.set(event.id, moment++)
      const answer = await replicaOf(n).call('DELETE', `${GROUP}/claims/${receipt}`)
      if (answer?.status === 204) acknowledged.add(event.id)
    }
  }
  const isAllDelivered = () => posted.keys().every((id) => delivered.has(id))
  const posters = clusters.map(async (cluster) => {
    for (let n = 0; isPosting; n += 1) await post(cluster, n)
  })
  // One at a time: what two members of a group take at the same moment comes in no order.
  const consumer = async () => {
    for (let turn = 0; isPosting || !isAllDelivered(); turn += 1) await consume(turn)
  }
  const loops = [...posters, consumer()]
  let failure: unknown
  // Looked at by stop, which a test that fails does not reach.
  Promise.all(loops).catch((error: unknown) => {
    failure = error
  })
  return {
    posted,
    delivered,
    refused,
    /** Notes that something is broken now. */
    now: () => moment++,
    /** Resolves when so many more were posted and were delivered. */
    goesOn: async (count: number) => {
      const [posts, deliveries] = [posted.size + count, delivered.size + count]
      const progress = () => ({
        posted: Math.min(posted.size, posts),
        delivered: Math.min(delivered.size, deliveries),
        refused: [...refused].filter((status) => status !== 503),
        failure,
      })
      const expected = { posted: posts, delivered: deliveries, refused: [], failure: undefined }
      await expect.poll(progress, { timeout: 180_000 }).toEqual(expected)
    },
    /** Resolves when all that was posted was delivered. */
    stop: async () => {
      isPosting = false
      await Promise.all(loops)
    },
  }
}

describe.skipIf(findPostgres() === undefined)(`events on JetStream${postgresMissing() ?? ''}`, () => {
  // API-37
  test('kill -9 of replicas and of NATS under load: what was answered is delivered, what was acknowledged is not again, and an event is overtaken only by what was killed', {
    timeout: 600_000,
  }, async () => {
    const nats = await startNats()
    onTestFinished(() => nats.stop())
    const { databaseUrl } = await freshPostgres()
    const args = [`--database-url=${databaseUrl}`, `--nats-url=${nats.url}`]
    const replicas = [await startReplica(args), await startReplica(args)] as const
    const [first, second] = replicas
    await first.call('PUT', GROUP, { resourceType: 'clusters', maxDeliveries: 1000 })
    const clusters: string[] = []
    for (const name of ['first', 'second', 'third', 'fourth'])
      clusters.push((await first.call('POST', '/clusters', { name, spec: {} }))?.body.id)
    const load = startLoad(replicas, clusters)
    await load.goesOn(20)
    const broken: number[] = []
    for (const kill of [first.kill, nats.restart, second.kill, nats.restart, first.kill, second.kill]) {
      broken.push(load.now())
      await kill()
      broken.push(load.now())
      await load.goesOn(15)
    }
    await load.stop()
    expect([...load.refused].filter((status) => status !== 503)).toEqual([])
    for (const cluster of clusters) {
      const ofOne = [...load.posted].filter(([, event]) => event.cluster === cluster).map(([id]) => id)
      // The events of a resource are numbered.
      const numbers = ofOne.map((id) => Number(id.split('.').at(-1)))
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
      for (const [index, id] of ofOne.entries()) {
        const came = load.delivered.get(id) ?? 0
        const isOvertaken = ofOne.slice(index + 1).some((later) => (load.delivered.get(later) ?? 0) < came)
        const { at } = load.posted.get(id) ?? { at: 0 }
        expect(!isOvertaken || broken.some((moment) => at <= moment && moment <= came), id).toBe(true)
      }
    }
    expect((await first.call('GET', `${GROUP}/dead-letters`))?.body.items).toEqual([])
  })
})
