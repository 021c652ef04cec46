/** Records that grow between the look at their lengths and their turn to be read, in any order. API-184. */
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { listPage } from '#services/hyperfleet-api/storage/list.ts'
import { readDocuments, readPage, readPortions, type TakeRoom } from '#services/hyperfleet-api/storage/portions.ts'
import { writeResource } from '#services/hyperfleet-api/storage/write-resource.ts'
import { resourceAt } from './search/resources.ts'
import { onBothDatabases } from './support.ts'

const RECORDS = 40
const LARGE = 150_000
const FILTER = { kind: 'Cluster' }
const ORDER = [{ column: 'id', direction: 'asc' }] as const

/** Numbers that look like chance, the same for each seed. */
const chanceOf = (seed: number) => {
  let state = Math.imul(seed, 2_654_435_761) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Some records, each with a document of about a kilobyte. */
const store = async (database: Database): Promise<readonly string[]> => {
  const resources = fc.sample(fc.tuple(...Array.from({ length: RECORDS }, (_, n) => resourceAt(n))), {
    numRuns: 1,
    seed: 20,
  })[0]
  await database.transaction(async (writer) => {
    for (const resource of resources ?? [])
      await writeResource(writer, database.dialect, { type: 'added', resource }, resource.created_time)
  })
  const ids = (resources ?? []).map(({ id }) => id).toSorted()
  for (const id of ids) await setLength(database, id, 1_000)
  return ids
}

const setLength = (database: Database, id: string, length: number) =>
  database.transaction((writer) =>
    writer
      .updateTable('resources')
      .set({ document: JSON.stringify({ id, filler: 'x'.repeat(length) }) })
      .where('id', '=', id)
      .execute(),
  )

onBothDatabases((fresh) => {
  test('attack: a writer makes the records of a list longer while its reader takes nothing: no portion has more than its room, and none is left out', async () => {
    const database = await openDatabase({ ...(await fresh()), onError: () => {} })
    onTestFinished(() => database.close())
    const ids = await store(database)
    for (const way of ['whole', 'page', 'whole', 'page'].entries()) {
      for (const id of ids) await setLength(database, id, 1_000)
      const chance = chanceOf(way[0] + 1)
      let room = 0
      let growths = 30
      /** While it waits for its room, others write. */
      const takeRoom: TakeRoom = async (bytes) => {
        for (; growths > 0 && chance() < 0.9; growths -= 1) {
          const id = ids[Math.floor(chance() * ids.length)] ?? ''
          await setLength(database, id, Math.floor(LARGE * chance()))
        }
        room = bytes
        return () => {}
      }
      const portions = async () => {
        if (way[1] === 'whole') return readPortions(database, { filter: FILTER, order: ORDER }, takeRoom)
        const { rows } = await listPage(database, { filter: FILTER, order: ORDER, size: 1_000, from: { offset: 0 } })
        return readPage(rows, (long) => readDocuments(database, FILTER, long), takeRoom)
      }
      const read: string[] = []
      for await (const documents of await portions()) {
        const bytes = documents.reduce((sum, document) => sum + document.length, 0)
        expect(bytes).toBeLessThanOrEqual(room * 1.25 + 1_025 * documents.length)
        read.push(...documents.map((document) => (JSON.parse(document) as { id: string }).id))
      }
      expect(read).toEqual(ids)
    }
  })
})
