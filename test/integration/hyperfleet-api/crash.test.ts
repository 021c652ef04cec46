import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { grounds, killAtEveryStatement, type Remains } from '#test/harness/index.ts'
import { type Json, requestTo } from './support.ts'

/** A process is started for every statement, which takes its time on a busy machine. */
const PATIENCE = 900_000

/** Three levels, each with an adapter of its own. */
const KINDS = `entities:
  - {kind: Cluster, plural: clusters, required_adapters: [dns]}
  - {kind: NodePool, plural: nodepools, parent_kind: Cluster, on_parent_delete: cascade, required_adapters: [dns]}
  - {kind: Machine, plural: machines, parent_kind: NodePool, on_parent_delete: cascade, required_adapters: [dns]}
`

const withKinds = async (): Promise<readonly string[]> => {
  const file = join(await temporaryFolder('kinds'), 'kinds.yaml')
  await writeFile(file, KINDS)
  return [`--config=${file}`]
}

/** Ids, from the root down. */
interface Family {
  readonly cluster: string
  readonly pool: string
  readonly machine: string
}

const finalized = (adapter: string, generation: number) => ({
  adapter,
  observed_generation: generation,
  conditions: ['Available', 'Applied', 'Health', 'Finalized'].map((type) => ({
    type,
    status: type === 'Health' || type === 'Finalized' ? 'True' : 'False',
  })),
})

const running = (adapter: string) => ({
  adapter,
  observed_generation: 1,
  conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' })),
})

/** A cluster with a pool with a machine, each known to an adapter. */
const family = async (url: string, round: number): Promise<Family> => {
  const { body: cluster } = await requestTo(url)('POST', '/clusters', { name: `cluster-${round}`, spec: {} })
  const at = `/clusters/${cluster.id}`
  const { body: pool } = await requestTo(url)('POST', `${at}/nodepools`, { name: `pool-${round}`, spec: {} })
  const { body: machine } = await requestTo(url)('POST', `/nodepools/${pool.id}/machines`, { name: 'one', spec: {} })
  for (const path of [at, `/nodepools/${pool.id}`, `/machines/${machine.id}`])
    expect((await requestTo(url)('PUT', `${path}/statuses`, running('dns'))).status).toBe(201)
  return { cluster: cluster.id, pool: pool.id, machine: machine.id }
}

/** What the tables say of a family: which members are there, marked or not, and that no row is left behind by those that are gone. */
const recordsOf = async ({ rows }: Pick<Remains<Family, unknown>, 'rows'>, { cluster, pool, machine }: Family) => {
  const ids = [cluster, pool, machine]
  const among = `id in (${ids.map((id) => `'${id}'`).join()})`
  for (const table of ['resource_labels', 'resource_conditions', 'adapter_statuses'])
    expect(await rows(`select resource_id from ${table} where resource_id not in (select id from resources)`)).toEqual(
      [],
    )
  const found = await rows(`select id, deleted_time, generation, document from resources where ${among} order by kind`)
  const changes = await rows(`select resource_id, type, document from changes order by version`)
  const archived = await rows(`select id from archive where ${among}`)
  // Here or in the archive, never in both, never in none.
  expect([...found, ...archived].map(({ id }) => String(id)).toSorted()).toEqual(ids.toSorted())
  // What watchers were told last is what is stored.
  for (const { id, document } of found)
    expect(changes.findLast((change) => change.resource_id === id)?.document).toBe(document)
  return found.map(({ deleted_time, generation }) => [deleted_time === null ? 'living' : 'deleting', generation])
}

const LIVING = 'living,1 living,1 living,1'
const DELETING = 'deleting,2 deleting,2 deleting,2'

/** Rows of statuses, what the condition Ready says, and the phase of the resource. */
const UNREPORTED = '0 False NotReady'
const REPORTED = '1 True Ready'

for (const { name, skip, ground } of grounds)
  describe.skipIf(skip)(`killed at every statement on ${name}`, () => {
    const begin = async () => {
      const database = await ground()
      onTestFinished(() => database[Symbol.asyncDispose]())
      return database
    }

    // API-8
    test('a status report is stored with all that follows from it or not at all, and what was answered is done', {
      timeout: PATIENCE,
    }, async () => {
      const outcomes = new Set<string>()
      await killAtEveryStatement<string, Json>(await begin(), {
        args: await withKinds(),
        prepare: async (url, round) =>
          (await requestTo(url)('POST', '/clusters', { name: `cluster-${round}`, spec: {} })).body.id,
        mutate: async (url, id) => (await requestTo(url)('PUT', `/clusters/${id}/statuses`, running('dns'))).status,
        check: async ({ prepared: id, answer, rows, restart }) => {
          const statuses = await rows(`select adapter from adapter_statuses where resource_id = '${id}'`)
          const [ready] = await rows(
            `select status from resource_conditions where resource_id = '${id}' and type = 'Ready'`,
          )
          const [row] = await rows(`select document from resources where id = '${id}'`)
          const changes = await rows(`select document from changes where resource_id = '${id}' order by version`)
          const { phase } = JSON.parse(String(row?.document)).status
          const state = [statuses.length, ready?.status, phase].join(' ')
          expect(state).toBeOneOf([REPORTED, UNREPORTED])
          expect(changes.at(-1)?.document).toBe(row?.document)
          if (answer !== undefined) expect([answer, state]).toEqual([201, REPORTED])
          outcomes.add(state)
          const again = await requestTo(await restart())('PUT', `/clusters/${id}/statuses`, running('dns'))
          expect(again.status).toBe(201)
        },
      })
      expect(outcomes).toEqual(new Set([UNREPORTED, REPORTED]))
    })

    test('a DELETE marks the whole tree or nothing, and what was answered is done', { timeout: PATIENCE }, async () => {
      const outcomes = new Set<string>()
      const statements = await killAtEveryStatement<Family, Json>(await begin(), {
        args: await withKinds(),
        prepare: family,
        mutate: async (url, { cluster }) => (await requestTo(url)('DELETE', `/clusters/${cluster}`)).status,
        check: async ({ prepared, answer, rows, restart }) => {
          const records = (await recordsOf({ rows }, prepared)).join(' ')
          expect(records).toBeOneOf([LIVING, DELETING])
          if (answer !== undefined) expect([answer, records]).toEqual([202, DELETING])
          outcomes.add(records)
          const request = requestTo(await restart())
          expect((await request('DELETE', `/clusters/${prepared.cluster}`)).body.generation).toBe(2)
        },
      })
      expect(outcomes.size).toBe(2)
      expect(statements.at(-1)).toMatch(/^commit/i)
    })

    // API-27
    test('the report that opens the gate removes the tree or nothing, and what was answered is done', {
      timeout: PATIENCE,
    }, async () => {
      const outcomes = new Set<string>()
      await killAtEveryStatement<Family, Json>(await begin(), {
        args: await withKinds(),
        prepare: async (url, round) => {
          const made = await family(url, round)
          await requestTo(url)('DELETE', `/clusters/${made.cluster}`)
          for (const path of [`/clusters/${made.cluster}`, `/nodepools/${made.pool}`])
            await requestTo(url)('PUT', `${path}/statuses`, finalized('dns', 2))
          return made
        },
        mutate: async (url, { machine }) =>
          (await requestTo(url)('PUT', `/machines/${machine}/statuses`, finalized('dns', 2))).status,
        check: async ({ prepared, answer, rows, restart }) => {
          const records = (await recordsOf({ rows }, prepared)).join(' ')
          expect(records).toBeOneOf([DELETING, ''])
          if (answer !== undefined) expect([answer, records]).toEqual([201, ''])
          outcomes.add(records)
          const request = requestTo(await restart())
          const again = await request('PUT', `/machines/${prepared.machine}/statuses`, finalized('dns', 2))
          expect(again.status).toBe(records === '' ? 404 : 201)
          expect((await request('GET', `/clusters/${prepared.cluster}`)).status).toBe(404)
        },
      })
      expect(outcomes.size).toBe(2)
    })
  })
