import { expect, onTestFinished, test } from 'vitest'
import { silent } from '#operator/model/log.ts'
import { storeConsumer } from '#services/hyperfleet-api/events/consumers.ts'
import { publishEvent } from '#services/hyperfleet-api/events/publish.ts'
import { deleteOldEvents } from '#services/hyperfleet-api/events/retention.ts'
import { readFloor, trimChanges } from '#services/hyperfleet-api/feed/changes.ts'
import { builtinEntities, defineEntities } from '#services/hyperfleet-api/model/entity.ts'
import { createIdGenerator } from '#services/hyperfleet-api/model/id-generator.ts'
import { timestampOf } from '#services/hyperfleet-api/model/timestamp.ts'
import { createResource } from '#services/hyperfleet-api/mutations/create.ts'
import { NO_SPEC_SCHEMAS } from '#services/hyperfleet-api/specs/schemas.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { deleteExpired, RETENTION_MS } from '#services/hyperfleet-api/storage/retention.ts'
import { manualClock } from '#test/harness/index.ts'
import { onBothDatabases, serve, temporaryData } from './support.ts'

onBothDatabases((fresh) => {
  test('changes and events are forgotten when they are old, the resources never', async () => {
    const database = await openDatabase({ ...(await fresh()), onError: () => {} })
    onTestFinished(() => database.close())
    const start = new Date('2026-01-01T00:00:00Z')
    const entities = defineEntities(builtinEntities)
    const entity = entities.byPlural('clusters')
    if (entity === undefined) throw new Error('clusters are built in')
    const mutations = {
      database,
      entities,
      specs: NO_SPEC_SCHEMAS,
      newId: createIdGenerator(() => start),
      now: () => start,
      notifyCommitted: () => {},
      log: silent,
    }
    const time = timestampOf(start)
    await storeConsumer(database, { name: 'dns', kind: entity.kind, selector: '', maxDeliveries: 10 }, time)
    const { id } = await createResource(
      mutations,
      entity,
      undefined,
      { name: 'one', spec: {} },
      { identity: 'me', time },
    )
    await publishEvent(
      { ...mutations, queue: { recordTaken: async () => {} } },
      { entity, id },
      { reason: 'New', source: 'me', time },
    )
    const count = async (table: 'changes' | 'events' | 'event_deliveries' | 'resources') =>
      Number(
        (
          await database.kysely
            .selectFrom(table)
            .select(({ fn }) => fn.countAll().as('n'))
            .executeTakeFirstOrThrow()
        ).n,
      )
    const counts = async () =>
      [await count('changes'), await count('events'), await count('event_deliveries'), await count('resources')].join()

    const { version } = await database.kysely.selectFrom('changes').select('version').executeTakeFirstOrThrow()
    await deleteExpired(database, new Date(start.getTime() + RETENTION_MS.changes))
    expect([await counts(), await readFloor(database.kysely)]).toEqual(['1,1,1,1', 0])
    await deleteExpired(database, new Date(start.getTime() + RETENTION_MS.changes + 1))
    expect([await counts(), await readFloor(database.kysely)]).toEqual(['0,1,1,1', version])
    await deleteExpired(database, new Date(start.getTime() + RETENTION_MS.events + 1))
    expect(await counts()).toBe('0,0,0,1')
  })

  // API-74
  test('of changes by clocks that differ those are forgotten before which all are old', async () => {
    const database = await openDatabase({ ...(await fresh()), onError: () => {} })
    onTestFinished(() => database.close())
    const time = (minute: number) => timestampOf(new Date(Date.UTC(2026, 0, 1, 0, minute)))
    const change = { type: 'added', kind: 'Cluster', labels_before: '{}', labels: '{}', document: '{}' } as const
    for (const minute of [1, 2, 9, 3, 8])
      await database.kysely
        .insertInto('changes')
        .values({ ...change, resource_id: `at-${minute}`, time: time(minute) })
        .execute()
    await trimChanges(database, { since: time(5), maxChanges: 100 })
    const left = await database.kysely
      .selectFrom('changes')
      .select(['resource_id', 'version'])
      .orderBy('version')
      .execute()
    expect(left.map(({ resource_id }) => resource_id)).toEqual(['at-9', 'at-3', 'at-8'])
    expect(await readFloor(database.kysely)).toBe(Number(left[0]?.version) - 1)
  })

  test('an event that every group is done with goes after an hour, the others and dead letters stay', async () => {
    const choice = { ...(await temporaryData()), ...(await fresh()) }
    const clock = manualClock()
    const api = await serve(choice, clock)
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters', maxDeliveries: 1 })
    const { id: resourceId } = await api.cluster('one')
    for (const reason of ['Done', 'Dead', 'Waiting'])
      await api.call('POST', '/events', { resourceType: 'clusters', resourceId, reason })
    const claims = '/events/consumers/dns/claims'
    const { items } = (await api.call('POST', claims, { max: 2 })).body
    await api.call('DELETE', `${claims}/${items[0].receipt}`)
    await clock.advance('1h')
    const [waiting] = (await api.call('POST', claims, { visibility: '12h' })).body.items
    expect(waiting.event.data.reason).toBe('Waiting')
    await api.stop()
    const database = await openDatabase({ ...choice, onError: () => {} })
    onTestFinished(() => database.close())
    const reasons = async () => {
      const rows = await database.kysely.selectFrom('events').select('reason').orderBy('sequence').execute()
      return rows.map(({ reason }) => reason)
    }
    await deleteExpired(database, clock.now())
    expect(await reasons()).toEqual(['Done', 'Dead', 'Waiting'])
    await deleteExpired(database, new Date(clock.now().getTime() + 1))
    expect(await reasons()).toEqual(['Dead', 'Waiting'])
    const time = timestampOf(new Date(0))
    await deleteOldEvents(database, { before: time, finishedBefore: time, maxEvents: 1 })
    expect(await reasons()).toEqual(['Waiting'])
  })
})
