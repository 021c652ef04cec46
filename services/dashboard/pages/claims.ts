/** Claims: which wait for a cluster, and which have one. */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { html } from '#lib/markup/markup.ts'
import { type Condition, findCondition } from '#operator/model/conditions.ts'
import { keyOf } from '#operator/model/resource.ts'
import { describeLine } from '../findings/finding.ts'
import { page } from '../page.ts'
import { age } from '../parts/age.ts'
import { conditionTable } from '../parts/conditions.ts'
import { objectPath } from '../parts/links.ts'
import { filter, type Listing, matching, paged, pager } from '../parts/listing.ts'
import { runsElsewhere } from '../parts/missing.ts'
import { command, facts, table } from '../parts/table.ts'
import { state, type Tone } from '../parts/tone.ts'

const STATES = ['Waiting', 'Resuming', 'Running', 'Leaving'] as const
type State = (typeof STATES)[number]
const TONES: Readonly<Record<State, Tone>> = { Waiting: 'busy', Resuming: 'busy', Running: 'good', Leaving: 'held' }

interface ClaimRow {
  readonly key: string
  readonly state: State
  readonly reason: string
  readonly message: string
  readonly pool: string
  /** 0: it does not wait. */
  readonly queue: number
  readonly cluster: string | undefined
  readonly lifetime: string | number | undefined
  readonly created: string | undefined
}

const rowOf = ({ metadata, spec, status }: ClusterClaim): ClaimRow => {
  const pending = findCondition(status?.conditions, 'Pending')
  const running = findCondition(status?.conditions, 'ClusterRunning')
  const stateNow: State =
    metadata.deletionTimestamp !== undefined
      ? 'Leaving'
      : spec.namespace === undefined || pending?.status === 'True'
        ? 'Waiting'
        : running?.status === 'True'
          ? 'Running'
          : 'Resuming'
  const message = stateNow === 'Waiting' ? pending : running
  return {
    key: keyOf(metadata),
    state: stateNow,
    reason: message?.reason ?? '',
    message: message?.message ?? '',
    pool: `${metadata.namespace}/${spec.clusterPoolName}`,
    queue: status?.queuePosition ?? 0,
    cluster: spec.namespace,
    lifetime: status?.lifetime ?? spec.lifetime,
    created: metadata.creationTimestamp,
  }
}

/** Those that wait come first, in the order of their queue. */
const inOrder = (a: ClaimRow, b: ClaimRow): number =>
  STATES.indexOf(a.state) - STATES.indexOf(b.state) || a.queue - b.queue || (a.key < b.key ? -1 : 1)

interface Claims {
  readonly counts: Readonly<Record<State, number>>
  readonly claims: Listing<ClaimRow>
}

export const claims = page<Claims | { readonly claims: undefined }>({
  path: '/claims',
  menu: '/claims',

  view({ sources, query }) {
    const cache = sources.objects(ClusterClaim)
    if (cache === undefined) return { claims: undefined }
    const fits = matching(query)
    const selected = query.get('state')
    const rows = [...cache.values()].map(rowOf).filter(({ key, pool, reason }) => fits(`${key} ${pool} ${reason}`))
    const counts = { Waiting: 0, Resuming: 0, Running: 0, Leaving: 0 }
    for (const row of rows) counts[row.state] += 1
    const shown = rows.filter((row) => selected === null || row.state === selected)
    return { counts, claims: paged(shown.toSorted(inOrder), query) }
  },

  title: () => 'Claims',

  sections(model, { query, now }) {
    if (model.claims === undefined) return [{ id: 'claims', body: runsElsewhere('clusterclaim') }]
    const { counts } = model
    return [
      {
        id: 'filters',
        body: filter({
          path: '/claims',
          query,
          hint: 'name, pool or reason',
          choices: STATES.map((word) => ({ value: word, word, count: counts[word] })),
        }),
      },
      {
        id: 'claims',
        body: html`${table<ClaimRow>({
          caption: 'Claims',
          columns: [
            { name: 'Claim', cell: ({ key }) => html`<a href="${objectPath('claims', key)}">${key}</a>` },
            { name: 'State', cell: (row) => state(TONES[row.state], row.state) },
            { name: 'Queue', isNumber: true, cell: ({ queue }) => (queue === 0 ? undefined : queue) },
            { name: 'Pool', cell: ({ pool }) => html`<a href="${objectPath('pools', pool)}">${pool}</a>` },
            { name: 'Cluster', cell: ({ cluster }) => cluster },
            { name: 'Lifetime', isNumber: true, cell: ({ lifetime }) => lifetime },
            { name: 'Age', isNumber: true, cell: ({ created }) => age(created, now) },
            { name: 'Message', isWide: true, cell: ({ message }) => message },
          ],
          rows: model.claims.rows,
          key: ({ key }) => key,
          empty: query.size > 0 ? 'No claim is like that.' : 'There is no claim yet.',
        })}${pager('/claims', query, model.claims)}`,
      },
    ]
  },
})

interface ClaimDetail extends ClaimRow {
  readonly subjects: readonly string[]
  readonly conditions: readonly Condition[]
  readonly kubectl: string
}

export const claim = page<ClaimDetail>({
  path: '/claims/:namespace/:name',
  menu: '/claims',

  view({ params: { namespace = '', name = '' }, sources }) {
    const found = sources.objects(ClusterClaim)?.get(`${namespace}/${name}`)
    if (found === undefined) return undefined
    return {
      ...rowOf(found),
      subjects: (found.spec.subjects ?? []).map(({ kind, name }) => `${kind} ${name}`),
      conditions: found.status?.conditions ?? [],
      kubectl: describeLine(ClusterClaim, found.metadata),
    }
  },

  title: ({ key }) => key,

  sections: (model, { now }) => [
    {
      id: 'state',
      body: html`${facts([
        ['State', html`${state(TONES[model.state], model.state)} <span class="message">${model.message}</span>`],
        ['Pool', html`<a href="${objectPath('pools', model.pool)}">${model.pool}</a>`],
        ['Place in the queue', model.queue === 0 ? undefined : model.queue],
        ['Cluster', model.cluster],
        ['Lifetime', model.lifetime],
        ['For', model.subjects.length === 0 ? undefined : model.subjects.join(', ')],
        ['Age', age(model.created, now)],
      ])}${command(model.kubectl)}`,
    },
    { id: 'conditions', heading: 'Conditions', body: conditionTable(model.conditions, now) },
  ],
})
