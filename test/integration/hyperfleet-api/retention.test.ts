import { expect, onTestFinished, test } from 'vitest'
import { storeConsumer } from '#services/hyperfleet-api/events/consumers.ts'
import { publishEvent } from '#services/hyperfleet-api/events/publish.ts'
import { readFloor } from '#services/hyperfleet-api/feed/changes.ts'
import { builtinEntities, defineEntities } from '#services/hyperfleet-api/model/entity.ts'
import { identifiers } from '#services/hyperfleet-api/model/identifier.ts'
import { timestampOf } from '#services/hyperfleet-api/model/timestamp.ts'
import { createResource } from '#services/hyperfleet-api/mutations/create.ts'
import { noSchemas } from '#services/hyperfleet-api/specs/schemas.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { forgetOld, KEEP } from '#services/hyperfleet-api/storage/retention.ts'
import { onBothDatabases } from './support.ts'

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
      specs: noSchemas,
      newId: identifiers(() => start),
      now: () => start,
      committed: () => {},
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
      { ...mutations, queue: { noteTaken: async () => {} } },
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

    await forgetOld(database, new Date(start.getTime() + KEEP.changes))
    expect([await counts(), await readFloor(database.kysely)]).toEqual(['1,1,1,1', 0])
    await forgetOld(database, new Date(start.getTime() + KEEP.changes + 1))
    expect([await counts(), await readFloor(database.kysely)]).toEqual(['0,1,1,1', 1])
    await forgetOld(database, new Date(start.getTime() + KEEP.events + 1))
    expect(await counts()).toBe('0,0,0,1')
  })
})
