/** Pools: what they keep, and the customizations that they may use. */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool, ENTRY_STATUSES, type InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { html } from '#lib/markup/markup.ts'
import type { Condition } from '#operator/model/conditions.ts'
import { keyOf } from '#operator/model/resource.ts'
import { describeLine } from '../findings/finding.ts'
import { page } from '../page.ts'
import { age } from '../parts/age.ts'
import { bar, legended, type Part } from '../parts/chart.ts'
import { conditionTable, type Readiness, renderReadiness, summarizeConditions } from '../parts/conditions.ts'
import { objectPath } from '../parts/links.ts'
import { filter, type Listing, matching, paged, pager } from '../parts/listing.ts'
import { runsElsewhere } from '../parts/missing.ts'
import { command, facts, table } from '../parts/table.ts'
import { state, type Tone } from '../parts/tone.ts'

type EntryStatus = InventoryEntry['status']

const ENTRY_TONES: Readonly<Record<EntryStatus, Tone>> = {
  Available: 'good',
  Reserved: 'busy',
  BrokenByConfiguration: 'bad',
  BrokenByCloud: 'bad',
  Missing: 'bad',
  Unavailable: 'dim',
  ToBeDeleted: 'held',
  ToBeUpdated: 'warn',
}

interface PoolRow {
  readonly key: string
  readonly stand: Readiness
  readonly size: { readonly desired: number; readonly ready: number; readonly standby: number; readonly all: number }
  readonly claimed: number
  /** Undefined for a pool without inventory. */
  readonly inventory: Readonly<Partial<Record<EntryStatus, number>>> | undefined
  readonly created: string | undefined
}

const rowOf = (pool: ClusterPool): PoolRow => {
  const { status, spec, metadata } = pool
  const entries = status?.inventory === undefined ? undefined : Object.values(status.inventory)
  const counts = entries && Map.groupBy(entries, (entry) => entry.status)
  return {
    key: keyOf(metadata),
    stand: summarizeConditions(pool),
    size: { desired: spec.size, ready: status?.ready ?? 0, standby: status?.standby ?? 0, all: status?.size ?? 0 },
    claimed: status?.claimed ?? 0,
    inventory: counts && Object.fromEntries([...counts].map(([word, { length }]) => [word, length])),
    created: metadata.creationTimestamp,
  }
}

const inventoryParts = (counts: NonNullable<PoolRow['inventory']>): readonly Part[] =>
  ENTRY_STATUSES.map((word) => ({ tone: ENTRY_TONES[word], word, count: counts[word] ?? 0 }))

const byKey = (a: { readonly key: string }, b: { readonly key: string }): number => (a.key < b.key ? -1 : 1)

export const pools = page<{ readonly pools: Listing<PoolRow> | undefined }>({
  path: '/pools',
  menu: '/pools',

  view({ sources, query }) {
    const cache = sources.objects(ClusterPool)
    const fits = matching(query)
    const rows = cache && [...cache.values()].map(rowOf).filter((row) => fits(`${row.key} ${row.stand.reason}`))
    return { pools: rows && paged(rows.toSorted(byKey), query) }
  },

  title: () => 'Pools',

  sections({ pools: listing }, { query, now }) {
    if (listing === undefined) return [{ id: 'pools', body: runsElsewhere('clusterpool') }]
    return [
      { id: 'filters', body: filter({ path: '/pools', query, hint: 'name or reason' }) },
      {
        id: 'pools',
        body: html`${table<PoolRow>({
          caption: 'Pools',
          columns: [
            { name: 'Pool', cell: ({ key }) => html`<a href="${objectPath('pools', key)}">${key}</a>` },
            { name: 'State', cell: (row) => renderReadiness(row.stand) },
            {
              name: 'Ready',
              isNumber: true,
              cell: ({ size }) => html`${size.ready + size.standby}<span class="dim">/${size.desired}</span>`,
            },
            { name: 'Claimed', isNumber: true, cell: ({ claimed }) => claimed },
            {
              name: 'Inventory',
              isWide: true,
              cell: ({ inventory }) =>
                inventory === undefined ? html`<span class="dim">none</span>` : bar(inventoryParts(inventory)),
            },
            { name: 'Age', isNumber: true, cell: ({ created }) => age(created, now) },
          ],
          rows: listing.rows,
          key: ({ key }) => key,
          empty: query.has('q') ? 'No pool is like that.' : 'There is no pool yet.',
        })}${pager('/pools', query, listing)}`,
      },
    ]
  },
})

interface InventoryRow extends InventoryEntry {
  readonly name: string
}

interface ClusterRow {
  readonly key: string
  readonly stand: Readiness
  readonly power: string | undefined
  readonly claim: string | undefined
  readonly customization: string | undefined
  readonly created: string | undefined
}

interface PoolDetail extends PoolRow {
  readonly name: string
  readonly namespace: string
  readonly poolVersion: string | undefined
  readonly summary: string | undefined
  readonly entries: Listing<InventoryRow> | undefined
  readonly clusters: readonly ClusterRow[]
  readonly conditions: readonly Condition[]
  readonly kubectl: string
}

/** Clusters that one page names. */
const MAX_CLUSTERS = 100

/** What needs a person comes first. */
const ENTRY_ORDER: readonly EntryStatus[] = [
  'BrokenByConfiguration',
  'BrokenByCloud',
  'Missing',
  'Unavailable',
  'ToBeUpdated',
  'ToBeDeleted',
  'Reserved',
  'Available',
]

export const pool = page<PoolDetail>({
  path: '/pools/:namespace/:name',
  menu: '/pools',

  view({ params: { namespace = '', name = '' }, sources, query }) {
    const found = sources.objects(ClusterPool)?.get(`${namespace}/${name}`)
    if (found === undefined) return undefined
    const fits = matching(query)
    const inventory = found.status?.inventory
    const entries =
      inventory &&
      Object.entries(inventory)
        .map(([entry, about]): InventoryRow => ({ name: entry, ...about }))
        .filter((entry) => fits(`${entry.name} ${entry.status} ${entry.message ?? ''}`))
        .toSorted((a, b) => ENTRY_ORDER.indexOf(a.status) - ENTRY_ORDER.indexOf(b.status) || (a.name < b.name ? -1 : 1))
    const clusters = [...(sources.objects(ClusterDeployment)?.values() ?? [])].filter(
      ({ spec: { clusterPoolRef: ref } }) => ref?.namespace === namespace && ref.poolName === name,
    )
    return {
      ...rowOf(found),
      name,
      namespace,
      poolVersion: found.status?.poolVersion,
      summary: found.status?.inventorySummary,
      entries: entries && paged(entries, query),
      clusters: clusters.slice(0, MAX_CLUSTERS).map((cluster) => ({
        key: keyOf(cluster.metadata),
        stand: summarizeConditions(cluster),
        power: cluster.status?.powerState,
        claim: cluster.spec.clusterPoolRef?.claimName,
        customization: cluster.spec.clusterPoolRef?.clusterDeploymentCustomization?.name,
        created: cluster.metadata.creationTimestamp,
      })),
      conditions: found.status?.conditions ?? [],
      kubectl: describeLine(ClusterPool, found.metadata),
    }
  },

  title: ({ key }) => key,

  sections(model, { query, now }) {
    const { entries, size, clusters } = model
    const path = objectPath('pools', model.key)
    return [
      {
        id: 'state',
        body: html`${facts([
          ['State', html`${renderReadiness(model.stand)} <span class="message">${model.stand.message}</span>`],
          ['Clusters', `${size.ready} run, ${size.standby} hibernate, ${size.all} of ${size.desired} are there`],
          ['Claimed', model.claimed],
          ['Usable customizations', model.summary],
          ['Pool version', model.poolVersion && html`<code>${model.poolVersion}</code>`],
        ])}${command(model.kubectl)}`,
      },
      ...(entries === undefined
        ? []
        : [
            {
              id: 'inventory',
              heading: 'Inventory',
              body: html`${model.inventory && legended(inventoryParts(model.inventory))}
${filter({ path, query, hint: 'customization, state or message' })}${table<InventoryRow>({
  caption: 'Inventory',
  columns: [
    { name: 'Customization', cell: ({ name }) => name },
    { name: 'State', cell: ({ status }) => state(ENTRY_TONES[status], status) },
    { name: 'Attempts left', isNumber: true, cell: ({ attempts }) => attempts },
    { name: 'Cluster', cell: ({ clusterDeployment }) => clusterDeployment?.name },
    { name: 'Again', isNumber: true, cell: ({ retryTime }) => age(retryTime, now) },
    { name: 'Message', isWide: true, cell: ({ message, failure }) => message ?? failure?.message },
  ],
  rows: entries.rows,
  key: ({ name }) => name,
  empty: 'No customization is like that.',
})}${pager(path, query, entries)}`,
            },
          ]),
      {
        id: 'clusters',
        heading: 'Clusters',
        body: table<ClusterRow>({
          caption: 'Clusters',
          columns: [
            { name: 'Cluster', cell: ({ key }) => key },
            { name: 'State', cell: (row) => renderReadiness(row.stand) },
            { name: 'Power', cell: ({ power }) => power },
            {
              name: 'Claim',
              cell: ({ claim }) =>
                claim && html`<a href="${objectPath('claims', `${model.namespace}/${claim}`)}">${claim}</a>`,
            },
            { name: 'Customization', cell: ({ customization }) => customization },
            { name: 'Age', isNumber: true, cell: ({ created }) => age(created, now) },
          ],
          rows: clusters,
          key: ({ key }) => key,
          empty: 'It has no clusters.',
        }),
      },
      { id: 'conditions', heading: 'Conditions', body: conditionTable(model.conditions, now) },
    ]
  },
})
