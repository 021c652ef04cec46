/** Deployments: how their devices do, where each rollout stands, and which devices hold it up. */

import type { DeploymentRow, PlacementPhase, PlacementRow } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { html, type Markup } from '#lib/markup/markup.ts'
import type { Condition } from '#operator/model/conditions.ts'
import { formatSelector, selectorOf } from '#operator/model/selector.ts'
import { page } from '../page.ts'
import { age } from '../parts/age.ts'
import { bar, type Cell, legended, strip } from '../parts/chart.ts'
import { conditionTable } from '../parts/conditions.ts'
import { objectPath, pathTo, withQuery } from '../parts/links.ts'
import { filter, type Listing, matching, paged, pager } from '../parts/listing.ts'
import { runsElsewhere } from '../parts/missing.ts'
import { PLACEMENT_TONES, placementParts } from '../parts/placement-phases.ts'
import { command, facts, table } from '../parts/table.ts'
import { alarm, number, state, type Tone } from '../parts/tone.ts'

const PHASES = ['Suspended', 'Waiting', 'Paused', 'Active', 'Inactive'] as const satisfies RolloutStatus['phase'][]
const ROLLOUT_TONES: Readonly<Record<RolloutStatus['phase'], Tone>> = {
  Suspended: 'bad',
  Waiting: 'warn',
  Paused: 'held',
  Active: 'busy',
  Inactive: 'good',
}
/** A rollout that is over is good news. */
const PHASE_WORDS: Readonly<Record<RolloutStatus['phase'], string>> = {
  Suspended: 'Suspended',
  Waiting: 'Waiting',
  Paused: 'Paused',
  Active: 'Rolling out',
  Inactive: 'Done',
}

const phaseOf = ({ rollout }: DeploymentRow): RolloutStatus['phase'] => rollout?.phase ?? 'Inactive'

const phase = (row: DeploymentRow): Markup =>
  row.isDeleting
    ? state('held', 'Leaving')
    : row.rollout === undefined
      ? state('dim', 'Not begun')
      : state(ROLLOUT_TONES[phaseOf(row)], PHASE_WORDS[phaseOf(row)])

/** The batches, as far as they are: done, having their turn, still to come. */
const batchCells = ({ phase: now, batch, batches }: RolloutStatus): readonly Cell[] =>
  batches.map(({ size }, at): Cell => {
    const place = at + 1
    if (now === 'Inactive' || place < batch) return { tone: 'good', word: 'done', size }
    if (place > batch) return { tone: 'dim', word: 'to come', size }
    return { tone: ROLLOUT_TONES[now], word: PHASE_WORDS[now].toLowerCase(), size }
  })

interface Deployments {
  readonly counts: Readonly<Record<RolloutStatus['phase'], number>>
  readonly deployments: Listing<DeploymentRow>
  /** What is shown is of what was read so far. */
  readonly isPartial: boolean
}

export const deployments = page<Deployments | { readonly deployments: undefined }>({
  path: '/deployments',
  menu: '/deployments',

  view({ sources, query }) {
    const fleet = sources.fleet()
    if (fleet === undefined) return { deployments: undefined }
    const fits = matching(query)
    const selected = query.get('state')
    const rows = fleet.deployments().filter(({ key }) => fits(key))
    const counts = { Suspended: 0, Waiting: 0, Paused: 0, Active: 0, Inactive: 0 }
    for (const row of rows) counts[phaseOf(row)] += 1
    const shown = rows
      .filter((row) => selected === null || phaseOf(row) === selected)
      .toSorted(
        (a, b) =>
          PHASES.indexOf(phaseOf(a)) - PHASES.indexOf(phaseOf(b)) ||
          b.aggregate.failed - a.aggregate.failed ||
          (a.key < b.key ? -1 : 1),
      )
    return { counts, deployments: paged(shown, query), isPartial: fleet.recovery().phase === 'Recovering' }
  },

  title: () => 'Deployments',

  sections(model, { query }) {
    if (model.deployments === undefined) return [{ id: 'deployments', body: runsElsewhere('fleet') }]
    const { counts } = model
    return [
      {
        id: 'filters',
        body: filter({
          path: '/deployments',
          query,
          hint: 'name',
          choices: PHASES.map((value) => ({ value, word: PHASE_WORDS[value], count: counts[value] })),
        }),
      },
      {
        id: 'deployments',
        body: html`${partial(model.isPartial)}${table<DeploymentRow>({
          caption: 'Deployments',
          columns: [
            { name: 'Deployment', cell: ({ key }) => html`<a href="${objectPath('deployments', key)}">${key}</a>` },
            { name: 'Rollout', cell: phase },
            { name: 'Batches', cell: ({ rollout }) => batches(rollout) },
            {
              name: 'Run',
              isNumber: true,
              cell: ({ aggregate: { succeeded, matched } }) =>
                html`${number(succeeded)}<span class="dim">/${number(matched)}</span>`,
            },
            { name: 'Failed', isNumber: true, cell: ({ aggregate }) => alarm(aggregate.failed) },
            { name: 'Offline', isNumber: true, cell: ({ aggregate }) => alarm(aggregate.offline, 'dim') },
            { name: 'Devices', isWide: true, cell: ({ aggregate }) => bar(placementParts(aggregate)) },
            { name: 'Revision', isNumber: true, cell: ({ revision }) => revision },
          ],
          rows: model.deployments.rows,
          key: ({ key }) => key,
          empty: query.size > 0 ? 'No Deployment is like that.' : 'There is no Deployment yet.',
        })}${pager('/deployments', query, model.deployments)}`,
      },
    ]
  },
})

/** Numbers made from what was read so far are never shown as if they were all. */
export const partial = (isPartial: boolean): Markup | undefined =>
  isPartial ? html`<p class="partial">Partial: the operator still reads what there is.</p>` : undefined

const batches = (rollout: RolloutStatus | undefined): Markup | undefined =>
  rollout === undefined || rollout.batches.length < 2
    ? html`<span class="dim">all at once</span>`
    : html`<span class="batch">${rollout.phase === 'Inactive' ? rollout.batches.length : rollout.batch}/${rollout.batches.length}</span>${strip(batchCells(rollout))}`

const WORST_FIRST: readonly PlacementPhase[] = ['failed', 'offline', 'unreported', 'held', 'pending', 'succeeded']

interface DeploymentDetail extends DeploymentRow {
  /** As `kubectl -l` has it; undefined when the object is not in memory yet. */
  readonly selector: string | undefined
  readonly workload: string | undefined
  readonly placements: Listing<PlacementRow>
  readonly conditions: readonly Condition[]
  readonly isPartial: boolean
  readonly kubectl: string
}

export const deployment = page<DeploymentDetail>({
  path: '/deployments/:namespace/:name',
  menu: '/deployments',

  view({ params: { namespace = '', name = '' }, sources, query }) {
    const key = `${namespace}/${name}`
    const fleet = sources.fleet()
    const row = fleet?.deployments().find((each) => each.key === key)
    if (fleet === undefined || row === undefined) return undefined
    const object = sources.objects(Deployment)?.get(key)
    const fits = matching(query)
    const selected = query.get('state')
    const placements = fleet
      .ofDeployment(key)
      .filter(
        ({ device, phase, message }) => fits(`${device} ${message ?? ''}`) && (selected === null || phase === selected),
      )
      .toSorted((a, b) => WORST_FIRST.indexOf(a.phase) - WORST_FIRST.indexOf(b.phase) || (a.device < b.device ? -1 : 1))
    return {
      ...row,
      selector: object && formatSelector(selectorOf(object.spec.targetSelector)),
      workload: object?.spec.score.type,
      placements: paged(placements, query),
      conditions: object?.status?.conditions ?? [],
      isPartial: fleet.recovery().phase === 'Recovering',
      kubectl: `kubectl describe ${Deployment.plural}.${Deployment.group} ${name} -n ${namespace}`,
    }
  },

  title: ({ key }) => key,

  sections(model, { query, now }) {
    const { aggregate, rollout, selector } = model
    const path = objectPath('deployments', model.key)
    return [
      {
        id: 'state',
        body: html`${partial(model.isPartial)}${legended(placementParts(aggregate))}${facts([
          ['Rollout', html`${phase(model)} <span class="message">${rollout?.message}</span>`],
          [
            'Devices',
            html`${number(aggregate.succeeded)} of ${number(aggregate.matched)} run it; ${number(aggregate.targeted)} were given revision ${model.revision}, ${number(aggregate.updated)} answered it`,
          ],
          ['Workload', model.workload],
          [
            'Selector',
            selector === undefined
              ? undefined
              : selector === ''
                ? 'all devices'
                : html`<a href="${withQuery('/preview', new URLSearchParams(), { selector })}"><code>${selector}</code></a>`,
          ],
          ['Last error', aggregate.lastError === '' ? undefined : aggregate.lastError],
        ])}${command(model.kubectl)}`,
      },
      ...(rollout === undefined ? [] : [{ id: 'batches', heading: 'Batches', body: batchTable(rollout, now) }]),
      {
        id: 'devices',
        heading: 'Devices',
        body: html`${filter({
          path,
          query,
          hint: 'device or message',
          choices: WORST_FIRST.map((value) => ({ value, word: value, count: aggregate[value] })),
        })}${table<PlacementRow>({
          caption: 'Devices of this Deployment, the worst first',
          columns: [
            { name: 'Device', cell: ({ device }) => html`<a href="${pathTo('devices', device)}">${device}</a>` },
            { name: 'State', cell: ({ phase }) => state(PLACEMENT_TONES[phase], phase) },
            { name: 'Given', isNumber: true, cell: ({ givenRevision }) => givenRevision },
            { name: 'Has', isNumber: true, cell: ({ answered }) => answered },
            { name: 'Said', isNumber: true, cell: ({ at }) => age(at, now) },
            { name: 'Message', isWide: true, cell: ({ message }) => message },
          ],
          rows: model.placements.rows,
          key: ({ device }) => device,
          empty: query.size > 0 ? 'No device is like that.' : 'The selector matches no device.',
        })}${pager(path, query, model.placements)}`,
      },
      { id: 'conditions', heading: 'Conditions', body: conditionTable(model.conditions, now) },
    ]
  },
})

const batchTable = (rollout: RolloutStatus, now: Date): Markup => {
  const cells = batchCells(rollout).map((cell, at) => ({ ...cell, place: at + 1 }))
  return html`${strip(cells)}${table<(typeof cells)[number]>({
    caption: 'Batches',
    columns: [
      { name: 'Batch', cell: ({ place }) => place },
      { name: 'Devices', isNumber: true, cell: ({ size }) => number(size) },
      { name: 'State', cell: ({ tone, word }) => state(tone, word) },
      {
        name: 'Since',
        isWide: true,
        cell: ({ place }) => (place === rollout.batch ? age(rollout.batchStartedAt, now) : undefined),
      },
    ],
    rows: cells,
    key: ({ place }) => `batch-${place}`,
    empty: 'It has none.',
  })}`
}
