import { RED } from '../tenant-rules.ts'
import { clusterId, HAVE, poolId, ROWS } from './fleet.ts'
import { asTenant, type Growth, reading, type Step, type World } from './step.ts'

const PATCH_SPEC = { spec: { more: 'changed' } }
/** Longer than its share of any page: it is read by itself (API-96). */
const LONG = 'x'.repeat(600_000)

const reportOf = (adapter: string, status: string, more: object = {}) => ({
  adapter,
  observed_generation: 1,
  conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status })),
  ...more,
})

const cleanedUp = (adapter: string, observed_generation: number) => ({
  adapter,
  observed_generation,
  conditions: [
    { type: 'Available', status: 'False' },
    { type: 'Applied', status: 'False' },
    { type: 'Health', status: 'True' },
  ],
})

/** Makes a cluster with a pool and a machine. @returns its path, and those of what is below it */
export const raise = async ({ ask }: World, name: string, spec: object = {}) => {
  const references = { wif_config: [{ id: 'w-2' }] }
  const { id } = await ask('POST', '/clusters', 201, {
    name,
    labels: { region: 'region-7', stage: 'prod' },
    spec,
    references,
  })
  const pool = (await ask('POST', `/clusters/${id}/nodepools`, 201, { name: 'pool', spec: {} })).id
  const machine = (await ask('POST', `/clusters/${id}/nodepools/${pool}/machines`, 201, { name: 'machine', spec: {} }))
    .id
  return { id, cluster: `/clusters/${id}`, pool: `/nodepools/${pool}`, machine: `/machines/${machine}` }
}

/** Each time with another name. */
const step = (
  what: string,
  run: (world: World, name: string) => Promise<unknown>,
  growth?: Growth,
  times = 3,
): Step => {
  let uses = 0
  return {
    what,
    growth,
    times,
    run: (world) => {
      uses += 1
      return run(world, `${what.replaceAll(/[^a-z]+/g, '-')}-${uses}`)
    },
  }
}

const reports = async (world: World, name: string): Promise<void> => {
  const { ask } = world
  const { cluster } = await raise(world, name)
  const statuses = `${cluster}/statuses`
  await ask('PUT', statuses, 201, reportOf('dns', 'True'))
  await ask('POST', statuses, 201, reportOf('validation', 'True'))
  await ask('PUT', statuses, 201, reportOf('dns', 'False'))
  await ask('PUT', statuses, 204, reportOf('dns', 'Unknown', { observed_generation: 1 }))
  await ask('PUT', statuses, 201, reportOf('extra', 'Unknown'))
  await ask('PUT', statuses, 201, reportOf('extra', 'True'), { 'if-match': '*' })
  await ask('PUT', statuses, 204, reportOf('extra', 'Unknown'), { 'if-match': '*' })
  await ask('DELETE', `${statuses}/extra`, 204)
}

const deletion = async (world: World, name: string): Promise<void> => {
  const { ask } = world
  const { cluster, pool } = await raise(world, name)
  await ask('PUT', `${pool}/statuses`, 201, reportOf('pools', 'True'))
  await ask('DELETE', `${cluster}?dry_run=true`, 200)
  await ask('DELETE', cluster, 202)
  await ask('DELETE', cluster, 202)
  await ask('GET', `${cluster}/explain`, 200)
  for (const adapter of ['dns', 'validation']) await ask('PUT', `${cluster}/statuses`, 201, cleanedUp(adapter, 2))
  await ask('PUT', `${pool}/statuses`, 201, cleanedUp('pools', 2))
  await ask('GET', cluster, 404)
}

const forced = async (world: World, name: string): Promise<void> => {
  const { ask } = world
  const { cluster } = await raise(world, name)
  await ask('DELETE', cluster, 202)
  await ask('POST', `${cluster}/force-delete`, 204, { reason: 'nothing is there any more' })
}

const longOnes = async (world: World): Promise<void> => {
  const { ask } = world
  const { id, cluster } = await raise(world, 'long-one', { text: LONG })
  await ask('GET', `/clusters?search=${encodeURIComponent(`id='${id}'`)}`, 200)
  await ask('PUT', `${cluster}/statuses`, 201, reportOf('dns', 'True'))
  await ask('PUT', `${cluster}/statuses`, 204, reportOf('dns', 'Unknown', { data: { text: 'x'.repeat(30_000) } }))
  await ask('GET', `${cluster}/statuses/history`, 200)
  await ask('DELETE', cluster, 202)
  await ask('POST', `${cluster}/force-delete`, 204, { reason: 'nothing is there any more' })
  await ask('GET', `/archive/clusters?id=${id}`, 200)
}

const archived = (rows: number): Growth => ({ with: 'what was archived of the kind: its total is counted', rows })

const singles: readonly Step[] = [
  reading(`/clusters/${clusterId(20)}`),
  reading(`/resources/${clusterId(20)}`),
  reading(`/clusters/${clusterId(20)}/nodepools/${poolId(20)}`),
  reading(`/clusters/${clusterId(20)}/statuses`),
  reading(`/clusters/${clusterId(30)}/statuses/history`),
  reading(`/clusters/${clusterId(ROWS - 2)}/explain`, {
    with: 'what waits in a group: the place of an event is counted',
    rows: HAVE.waiting,
  }),
  reading(`/nodepools/${poolId(20)}/explain`, {
    with: 'reports on the kind: whether an adapter that is silent ever reported is looked for, one look at a time',
    rows: 2 * ROWS,
  }),
  reading('/archive/clusters', archived(ROWS)),
  reading('/archive/clusters?page=51&size=20', archived(ROWS)),
  reading('/archive/clusters?name=name-7'),
  reading('/archive/clusters?id=a-00000077'),
]

export const writes: readonly Step[] = [
  ...singles,
  step('a cluster with what is below it is made', raise),
  step('a kind that names nothing is made', ({ ask }, name) => ask('POST', '/wifconfigs', 201, { name, spec: {} })),
  step('a resource is made by its kind', ({ ask }, name) =>
    ask('POST', '/resources', 201, { kind: 'WifConfig', name, spec: {} }),
  ),
  step('a name that is taken', ({ ask }) => ask('POST', '/clusters', 409, { name: 'name-2', spec: {} })),
  step('spec, labels and references are changed', async (world, name) => {
    const { cluster } = await raise(world, name)
    await world.ask('PATCH', cluster, 200, PATCH_SPEC)
    await world.ask('PATCH', cluster, 200, PATCH_SPEC)
    await world.ask('PATCH', cluster, 200, { labels: { region: 'region-8' } })
    await world.ask('PATCH', cluster, 200, { references: { wif_config: [{ id: 'w-1' }] } })
    await world.ask('PATCH', cluster, 200, { references: {} })
  }),
  step('reports of every sort', reports),
  step('a deletion to its end', deletion),
  step('a deletion by force', forced),
  step('a deletion that is refused, because others name it', async ({ ask }) => {
    await ask('DELETE', '/wifconfigs/w-1?dry_run=true', 200)
    await ask('DELETE', '/wifconfigs/w-1', 409)
  }),
  step('documents that are longer than their share of a page', longOnes, undefined, 1),
]

/** For an API that has tenants. */
export const tenantWrites: readonly Step[] = [
  asTenant(`/clusters/${clusterId(20)}`),
  asTenant(`/resources/${clusterId(20)}`),
  asTenant(`/clusters/${clusterId(20)}/explain`),
  step('a tenant makes and changes one', async ({ ask }, name) => {
    const { id } = await ask('POST', '/clusters', 201, { name, spec: {}, references: {} }, RED)
    await ask('PATCH', `/clusters/${id}`, 200, PATCH_SPEC, RED)
  }),
]
