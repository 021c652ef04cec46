import { createParser } from 'eventsource-parser'
import { sql } from 'kysely'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { readNextVersions } from '#services/hyperfleet-api/feed/changes.ts'
import { beginRunOfServer } from '#services/hyperfleet-api/feed/history.ts'
import { defineEntities } from '#services/hyperfleet-api/model/entity.ts'
import type { MutationContext } from '#services/hyperfleet-api/mutations/context.ts'
import { recheckDeletions } from '#services/hyperfleet-api/mutations/recheck-deletions.ts'
import type { Database } from '#services/hyperfleet-api/storage/database.ts'
import { deleteExpired } from '#services/hyperfleet-api/storage/retention.ts'
import type { Json } from '../support.ts'
import { entities, HAVE, ROWS, timeOf } from './fleet.ts'
import { eachPortion } from './lists.ts'
import type { Growth, Step, World } from './step.ts'
import { raise } from './writes.ts'

const GROUP = '/events/consumers/dns'

const post = ({ ask }: World, resourceId: string, reason: string, status = 201): Promise<Json> =>
  ask('POST', '/events', status, { resourceType: 'clusters', resourceId, reason, nextTime: timeOf(0) })

const claim = async ({ ask }: World, group: string, body: object = {}): Promise<Json[]> =>
  (await ask('POST', `/events/consumers/${group}/claims`, 200, { max: 1, ...body })).items

/** It goes along the events, because it mostly finds something soon. */
const passed: Growth = {
  with: 'deliveries of all groups, those that are taken included, until there is enough that is wanted',
  rows: 2 * ROWS,
}

/** From an event that is posted to its end, each way that it can go. */
const queue = async (world: World): Promise<void> => {
  const { ask } = world
  const { id } = await raise(world, `event-${Math.random().toString(36).slice(2)}`)
  await post(world, id, 'New')
  await post(world, id, 'New', 200)
  const claims: Json[] = []
  // One claim may give fewer than are there.
  while (claims.length < 5) claims.push(...(await claim(world, 'dns', { max: 5 - claims.length })))
  const [done, longer, back, unprocessed, dead] = claims.map(({ receipt }) => `${GROUP}/claims/${receipt}`)
  await ask('DELETE', `${done}`, 204)
  await ask('DELETE', `${done}`, 404)
  await ask('PATCH', `${longer}`, 204, { visibility: '1m' })
  await ask('PATCH', `${back}`, 204, { visibility: '0s' })
  await ask('PATCH', `${unprocessed}`, 204, { visibility: '0s', unprocessed: true })
  await ask('POST', `${dead}/dead-letter`, 204)
}

const giveUp = async (world: World): Promise<void> => {
  await world.ask('PUT', '/events/consumers/once', 201, {
    resourceType: 'clusters',
    labels: 'region=region-7',
    maxDeliveries: 1,
  })
  await world.ask('PUT', '/events/consumers/once', 200, {
    resourceType: 'clusters',
    labels: 'region=region-7',
    maxDeliveries: 1,
  })
  await world.ask('PUT', '/events/consumers/once', 200, {
    resourceType: 'clusters',
    labels: 'stage=prod',
    maxDeliveries: 1,
  })
  const { id } = await raise(world, `once-${Math.random().toString(36).slice(2)}`)
  await post(world, id, 'New')
  const [one] = await claim(world, 'once')
  await world.ask('PATCH', `/events/consumers/once/claims/${one?.receipt}`, 204, { visibility: '0s' })
  await claim(world, 'once')
  await world.ask('POST', `/events/consumers/once/dead-letters/${id}.1/replay`, 204)
  await world.ask('DELETE', '/events/consumers/once', 204)
}

/** A deletion waits for what the group has taken; then the group is gone. */
const waitedFor = async (world: World): Promise<void> => {
  await world.ask('PUT', '/events/consumers/late', 201, { resourceType: 'clusters', labels: 'stage=prod' })
  const { id, cluster } = await raise(world, `late-${Math.random().toString(36).slice(2)}`)
  await post(world, id, 'New')
  await claim(world, 'late')
  await world.ask('DELETE', cluster, 202)
  await world.ask('GET', `${cluster}/explain`, 200)
  if (world.database !== undefined)
    for (const scope of ['groups', 'finished'] as const) await recheckDeletions(mutationsOf(world.database), scope)
  await world.ask('DELETE', '/events/consumers/late', 204)
}

const mutationsOf = (database: Database): MutationContext => ({
  database,
  entities: defineEntities(entities),
  specs: { check: () => {} } as unknown as MutationContext['specs'],
  newId: () => '',
  now: () => new Date(),
  notifyCommitted: () => {},
  log: silent,
})

/** Reads a stream until it has so many messages. @returns the position of the last one that has one */
const watch = async (
  { api }: World,
  query: string,
  messages: number,
  onMessage = () => {},
): Promise<string | undefined> => {
  const abort = new AbortController()
  const response = await fetch(`${api.url}/api/hyperfleet/v1/clusters?watch=true${query}`, {
    signal: abort.signal,
  })
  let position: string | undefined
  let count = 0
  const parser = createParser({
    onEvent: ({ id }) => {
      count += 1
      onMessage()
      position = id ?? position
    },
  })
  const reader = response.body?.getReader()
  const text = new TextDecoder()
  while (count < messages) {
    const chunk = await reader?.read()
    if (chunk?.value === undefined) throw new Error(`the stream has ended: ${response.status}`)
    parser.feed(text.decode(chunk.value, { stream: true }))
  }
  abort.abort()
  return position
}

/** Changes that come while it is watched, and those since a position. */
const watchOn = async (world: World): Promise<void> => {
  const from = await watch(world, '&labels=region=region-77', 1)
  const begun = Promise.withResolvers<void>()
  const live = watch(world, '&labels=region=region-78', 3, begun.resolve)
  await begun.promise
  const { ask } = world
  const name = `watched-${Math.random().toString(36).slice(2)}`
  const { id } = await ask('POST', '/clusters', 201, { name, labels: { region: 'region-78' }, spec: {} })
  await ask('PATCH', `/clusters/${id}`, 200, { spec: { a: 1 } })
  await live
  await watch(world, `&resourceVersion=${from}`, 2)
}

/** The server was started anew since the history was noted; then its tables are others than were noted. */
const beginHistories = async ({ database }: World): Promise<void> => {
  if (database?.pool === undefined) return
  const { kysely } = database
  await kysely.transaction().execute(async (transaction) => {
    await sql`update change_history set run = 'another'`.execute(transaction)
    await sql`update change_history set mark = xmin::text`.execute(transaction)
  })
  await beginRunOfServer(kysely)
  await sql`update change_history set mark = ''`.execute(kysely)
  await readNextVersions(database, systemClock, { after: 0 })
}

const scrape = async ({ api }: World): Promise<void> => {
  await (await fetch(`${api.metricsUrl}/metrics`)).text()
  await (await fetch(`${api.healthUrl}/readyz`)).text()
}

/** At the moment at which half of what there is has become old. */
const forget = async ({ database }: World): Promise<void> => {
  if (database !== undefined) await deleteExpired(database, new Date(Date.parse(timeOf(ROWS / 2)) + 3_600_000))
}

export const events: readonly Step[] = [
  { what: 'events are posted, claimed and finished', run: queue, times: 4 },
  { what: 'a group is made, changed, gives up, replays and goes', run: giveUp, times: 4 },
  {
    what: 'a deletion waits for a group',
    growth: { with: 'what waits in a group: the place of an event is counted', rows: HAVE.waiting + 100 },
    run: waitedFor,
    times: 4,
  },
  {
    what: 'a claim of a group of which all is taken',
    growth: passed,
    times: 4,
    run: (world) => claim(world, 'slow', { max: 100 }),
  },
  {
    what: 'a claim waits in a group of which all is taken',
    growth: passed,
    run: (world) => claim(world, 'slow', { wait: '1500ms' }),
  },
  {
    what: 'dead letters are listed',
    growth: passed,
    times: 4,
    run: ({ ask }) => ask('GET', `${GROUP}/dead-letters`, 200),
  },
  { what: 'everything is told, then what comes', run: (world) => watch(world, '', ROWS + 1) },
  {
    what: 'a label is watched from the beginning',
    growth: eachPortion,
    run: (world) => watch(world, '&labels=stage=prod', ROWS + 1),
  },
  { what: 'what comes is told, and what came since', run: watchOn, times: 3 },
  {
    what: 'the metrics',
    growth: { with: 'what waits in the queue, is not ready or in deletion: a scrape counts it', rows: 2 * ROWS },
    times: 4,
    run: scrape,
  },
  {
    what: 'what is old is forgotten',
    growth: { with: 'what is forgotten, and what waits in the queue for longer than an hour', rows: 2 * ROWS },
    run: forget,
  },
  {
    what: 'histories begin',
    growth: {
      with: 'the changes that are kept: each is looked at for gaps, all are forgotten, and what is left of them is passed',
      rows: 10 * ROWS,
    },
    run: beginHistories,
  },
  {
    what: 'the archive is purged',
    growth: { with: 'what is purged', rows: 2 * ROWS },
    run: async ({ ask }) => {
      await ask('POST', '/archive/purge', 200, { before: timeOf(ROWS / 2), kind: 'Cluster' })
    },
  },
]
