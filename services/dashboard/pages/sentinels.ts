/** Sentinels: the shards, and what they have seen. */
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { html } from '#lib/markup/markup.ts'
import type { Condition } from '#operator/model/conditions.ts'
import type { Duration } from '#operator/model/duration.ts'
import { keyOf } from '#operator/model/resource.ts'
import { describeLine } from '../findings/finding.ts'
import { page } from '../page.ts'
import { age } from '../parts/age.ts'
import { bar } from '../parts/chart.ts'
import { conditionTable, type Readiness, renderReadiness, summarizeConditions } from '../parts/conditions.ts'
import { objectPath } from '../parts/links.ts'
import { filter, type Listing, matching, paged, pager } from '../parts/listing.ts'
import { runsElsewhere } from '../parts/missing.ts'
import { command, facts, table } from '../parts/table.ts'
import { number } from '../parts/tone.ts'

interface SentinelRow {
  readonly key: string
  readonly stand: Readiness
  readonly resourceType: string
  readonly shard: string | undefined
  readonly source: string | undefined
  readonly ready: number
  readonly notReady: number
  readonly pulses: number
  /** RFC 3339. */
  readonly lastRead: string | undefined
  readonly created: string | undefined
}

const rowOf = (config: SentinelConfig): SentinelRow => {
  const { metadata, spec, status } = config
  return {
    key: keyOf(metadata),
    stand: summarizeConditions(config),
    resourceType: spec.resourceType,
    shard: status?.shard,
    source: status?.source,
    ready: status?.ready ?? 0,
    notReady: status?.notReady ?? 0,
    pulses: status?.pulses ?? 0,
    lastRead: status?.lastPollTime,
    created: metadata.creationTimestamp,
  }
}

const readiness = ({ ready, notReady }: SentinelRow) =>
  bar([
    { tone: 'good', word: 'ready', count: ready },
    { tone: 'busy', word: 'not ready', count: notReady },
  ])

export const sentinels = page<{ readonly sentinels: Listing<SentinelRow> | undefined }>({
  path: '/sentinels',
  menu: '/sentinels',

  view({ sources, query }) {
    const cache = sources.objects(SentinelConfig)
    const fits = matching(query)
    const rows =
      cache &&
      [...cache.values()]
        .map(rowOf)
        .filter(({ key, resourceType, shard, stand: { reason } }) => fits(`${key} ${resourceType} ${shard} ${reason}`))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    return { sentinels: rows && paged(rows, query) }
  },

  title: () => 'Sentinels',

  sections({ sentinels: listing }, { query, now }) {
    if (listing === undefined) return [{ id: 'sentinels', body: runsElsewhere('sentinel') }]
    return [
      { id: 'filters', body: filter({ path: '/sentinels', query, hint: 'name, type or shard' }) },
      {
        id: 'sentinels',
        body: html`${table<SentinelRow>({
          caption: 'Sentinels',
          columns: [
            { name: 'Sentinel', cell: ({ key }) => html`<a href="${objectPath('sentinels', key)}">${key}</a>` },
            { name: 'State', cell: (row) => renderReadiness(row.stand) },
            { name: 'Type', cell: ({ resourceType }) => resourceType },
            { name: 'Shard', cell: ({ shard }) => shard && html`<code>${shard}</code>` },
            {
              name: 'Ready',
              isNumber: true,
              cell: (row) => html`${number(row.ready)}<span class="dim">/${number(row.ready + row.notReady)}</span>`,
            },
            { name: 'Resources', isWide: true, cell: readiness },
            { name: 'Pulses', isNumber: true, cell: ({ pulses }) => number(pulses) },
            { name: 'Age', isNumber: true, cell: ({ created }) => age(created, now) },
          ],
          rows: listing.rows,
          key: ({ key }) => key,
          empty: query.has('q') ? 'No Sentinel is like that.' : 'There is no SentinelConfig yet.',
        })}${pager('/sentinels', query, listing)}`,
      },
    ]
  },
})

interface SentinelDetail extends SentinelRow {
  readonly api: string
  readonly backoffNotReady: Duration
  readonly backoffReady: Duration
  readonly lastError: string | undefined
  readonly conditions: readonly Condition[]
  readonly kubectl: string
}

export const sentinel = page<SentinelDetail>({
  path: '/sentinels/:namespace/:name',
  menu: '/sentinels',

  view({ params: { namespace = '', name = '' }, sources }) {
    const found = sources.objects(SentinelConfig)?.get(`${namespace}/${name}`)
    if (found === undefined) return undefined
    const { spec, status, metadata } = found
    return {
      ...rowOf(found),
      api: spec.hyperfleetAPI?.url ?? 'the one of --hyperfleet-api-url',
      backoffNotReady: spec.backoffNotReady,
      backoffReady: spec.backoffReady,
      lastError: status?.lastError,
      conditions: status?.conditions ?? [],
      kubectl: describeLine(SentinelConfig, metadata),
    }
  },

  title: ({ key }) => key,

  sections: (model, { now }) => [
    {
      id: 'state',
      body: html`${facts([
        ['State', html`${renderReadiness(model.stand)} <span class="message">${model.stand.message}</span>`],
        [
          'Resources',
          html`${number(model.ready)} of ${number(model.ready + model.notReady)} ${model.resourceType} are Ready ${readiness(model)}`,
        ],
        ['Shard', model.shard && html`<code>${model.shard}</code>`],
        ['Pulses', number(model.pulses)],
        ['Pulsed', `every ${model.backoffNotReady} while not Ready, every ${model.backoffReady} once Ready`],
        ['API', html`<code>${model.api}</code>, by ${model.source ?? 'nothing yet'}`],
        ['Read whole', html`${age(model.lastRead, now)} ago`],
        ['Last error', model.lastError],
      ])}${command(model.kubectl)}`,
    },
    { id: 'conditions', heading: 'Conditions', body: conditionTable(model.conditions, now) },
  ],
})
