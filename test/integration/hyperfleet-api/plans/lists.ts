import { COLUMNS } from '#services/hyperfleet-api/search/search-tree.ts'
import { clusterId, HAVE, MANY_POOLS, poolId, ROWS, timeOf } from './fleet.ts'
import { asTenant, type Growth, reading, type Step, UNTIL_KEPT } from './step.ts'

const search = (text: string): string => `/clusters?search=${encodeURIComponent(text)}`

/** A total is counted once after each change, and told until the next one (API-103). */
const counted = (rows: number): Growth => ({ with: 'what fits: its total is counted after a change', rows })
/** For a page, and once more for its total after a change. */
const tested = (what: string, rows: number): Growth => ({
  with: `${what}: no index finds what fits of them`,
  rows: 2 * rows,
})
const sorted = (what: string): Growth => ({ with: `${what}: no index has them in this order`, rows: HAVE.resources })
/** While that is less than to look up the label of each that comes next in the order. */
const joined = (rows: number): Growth => ({
  with: 'what has the label: it is read as a whole where it is little, for the page and for the total',
  rows: 2 * rows,
})
/** Of one that little has; of one that much has the order is walked, once there are more. */
export const eachPortion: Growth = {
  with: 'what has the label: for each portion in another order than that of creation it is sorted anew',
  rows: HAVE.resources + ROWS,
}
const skipped = (rows: number): Growth => ({
  with: 'the rows of the pages before: that is what a number of a page asks for',
  rows,
})

/** Columns by which an index has a kind in order. */
const INDEXED = new Set<string>(['id', 'name', 'created_time', 'updated_time'])

const orders: readonly Step[] = Object.keys(COLUMNS).flatMap((column) =>
  ['asc', 'desc'].map((direction) =>
    reading(`/clusters?order=${column} ${direction}`, INDEXED.has(column) ? undefined : sorted('the kind')),
  ),
)

const pages: readonly Step[] = [
  reading('/clusters'),
  reading('/clusters?size=100&fields=name,status.phase'),
  reading('/clusters?page=51&size=20', skipped(1_000)),
  reading('/clusters?after='),
  reading(`/clusters?after=${clusterId(2_000)}&size=100`),
  reading('/clusters?order=created_time,name'),
  reading(`/clusters/${clusterId(10)}/nodepools`, counted(MANY_POOLS)),
  reading(`/clusters/${clusterId(11)}/nodepools?order=name`),
  reading('/nodepools'),
  reading(`/clusters/${clusterId(11)}/nodepools/${poolId(11)}/machines`),
  reading('/resources', sorted('all kinds together')),
  reading('/resources?kind=Cluster'),
  reading('/clusters?ref_type=wif_config&ref_target_id=w-1', tested('those that name it', HAVE.resources)),
]

const labels: readonly Step[] = [
  reading('/clusters?size=20&labels=region=region-7', counted(HAVE.region)),
  reading('/clusters?size=20&labels=region in (region-7,region-8)', joined(2 * HAVE.region)),
  reading('/clusters?size=20&labels=region=region-7,stage=prod', joined(ROWS + HAVE.region)),
  reading('/clusters?size=20&labels=stage', counted(ROWS)),
  reading('/clusters?size=20&labels=!tier', counted(ROWS)),
  reading('/clusters?size=20&labels=region!=region-7', counted(ROWS)),
  reading('/clusters?size=20&labels=tier=prod'),
  reading('/clusters?after=&labels=region=region-7', counted(HAVE.region)),
  reading(`/clusters?after=${clusterId(2_000)}&labels=stage=prod`, joined(ROWS)),
  // Without a page: everything, in portions.
  reading('/clusters?labels=region=region-7'),
  reading('/clusters?labels=stage=prod'),
  reading('/clusters?labels=stage=prod&order=name', eachPortion),
]

const searches: readonly Step[] = [
  reading(search(`name='name-77'`)),
  reading(search(`name in ('name-77','name-78')`)),
  reading(search(`name like 'name-77%'`)),
  reading(search(`name ilike 'NAME-77%'`), tested('the kind', HAVE.resources)),
  reading(search(`id='${clusterId(77)}'`)),
  reading(search(`id in ('${[77, 78, 79].map(clusterId).join(`','`)}')`)),
  reading(search(`id > '${clusterId(ROWS - 50)}'`)),
  reading(search(`kind='Cluster'`), counted(ROWS)),
  reading(search(`href='/77'`), tested('the kind', HAVE.resources)),
  reading(search(`created_by='maker-7'`), tested('the kind', HAVE.resources)),
  reading(search('generation=2'), tested('the kind', HAVE.resources)),
  reading(search(`created_time between '${timeOf(60)}' and '${timeOf(70)}'`)),
  reading(search(`updated_time>='${timeOf(ROWS - 10)}'`)),
  reading(search('deleted_time is not null')),
  reading(`/nodepools?search=${encodeURIComponent(`owner_id='${clusterId(11)}'`)}`),
  reading(search(`labels.region='region-7'`), counted(HAVE.region)),
  reading(search(`labels.region like 'region-7%'`), tested('all that have the label', ROWS)),
  reading(search('labels.nope is null'), counted(ROWS)),
  reading(search(`not labels.region='region-7'`), counted(ROWS)),
  reading(search(`labels.region='region-7' or name='name-3'`), tested('the kind', HAVE.resources)),
  reading(search(`status.conditions.Reconciled='False'`)),
  reading(search(`not status.conditions.Reconciled='True'`)),
  reading(search(`status.conditions.Reconciled='False' and labels.region='region-10'`), joined(HAVE.region)),
  reading(
    search(`status.conditions.Reconciled='True' and status.conditions.Reconciled.last_updated_time<'${timeOf(2_000)}'`),
    tested('those of the status', ROWS),
  ),
  reading(
    search(
      `labels.region='region-7' and status.conditions.Reconciled='True' and status.conditions.Reconciled.last_updated_time<'${timeOf(50)}'`,
    ),
    joined(HAVE.region),
  ),
  reading(search('status.conditions.Ready.observed_generation=2'), tested('the conditions', HAVE.conditions)),
  reading(search(`status.conditions.Nope='True'`)),
  reading(search(`spec.region.zone='zone-7'`)),
  reading(search(`spec.size>${ROWS - 5}`), tested('the kind', HAVE.resources)),
  reading(search('spec.nope is null'), tested('the kind', HAVE.resources)),
]

/** What a tenant sees costs by what the tenant has, never by what others have. */
const own = (): Growth => ({
  with: 'what the tenant has: it is counted, sorted or looked through',
  rows: 2 * HAVE.red,
})

const archivedByAll: Growth = {
  with: 'what everybody has had: no index has what is archived of a tenant',
  rows: ROWS + 100,
}

/** For an API that has tenants. */
export const tenantLists: readonly Step[] = [
  {
    // One question, whose total is counted by the first of them.
    what: 'pages of a tenant',
    growth: own(),
    run: async (world) => {
      for (const query of ['', '?size=100', '?after=', '?order=name'])
        for (let n = 0; n < UNTIL_KEPT; n += 1) await asTenant(`/clusters${query}`).run(world)
    },
  },
  ...[
    ['/clusters?size=20&labels=region=region-8', own()],
    ['/clusters?labels=region=region-8', own()],
    [search(`name='name-80'`), undefined],
    [search(`status.conditions.Reconciled='False'`), own()],
    [`/clusters/${clusterId(12)}/nodepools`, undefined],
    ['/archive/clusters', archivedByAll],
  ].map(([path, growth]) => asTenant(path as string, growth as Growth | undefined)),
]

export const lists: readonly Step[] = [...pages, ...orders, ...labels, ...searches]
