/** Adapter tasks, and the last runs of each. */

import type { AdapterRun } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import type { Trace } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { html } from '#lib/markup/markup.ts'
import type { Condition } from '#operator/model/conditions.ts'
import { keyOf } from '#operator/model/resource.ts'
import { describeLine } from '../findings/finding.ts'
import { page } from '../page.ts'
import { age } from '../parts/age.ts'
import { conditionTable, type Readiness, renderReadiness, summarizeConditions } from '../parts/conditions.ts'
import { objectPath } from '../parts/links.ts'
import { filter, type Listing, matching, paged, pager } from '../parts/listing.ts'
import { runsElsewhere } from '../parts/missing.ts'
import { command, facts, table } from '../parts/table.ts'
import { alarm, number, state } from '../parts/tone.ts'
import { formatDuration, RUN_TONES, runPath, runsOf, summarizeRun } from './run.ts'

interface TaskRow {
  readonly key: string
  readonly stand: Readiness
  readonly adapter: string
  readonly resourceType: string
  readonly processed: number
  readonly inFlight: number
  readonly failing: number
  readonly deleting: number
  readonly stuck: number
  readonly created: string | undefined
}

const rowOf = (task: AdapterTask): TaskRow => {
  const { metadata, spec, status } = task
  return {
    key: keyOf(metadata),
    stand: summarizeConditions(task),
    adapter: spec.adapter.name,
    resourceType: spec.resourceType,
    processed: status?.processed ?? 0,
    inFlight: status?.inFlight ?? 0,
    failing: status?.failing ?? 0,
    deleting: status?.deleting ?? 0,
    stuck: status?.stuck ?? 0,
    created: metadata.creationTimestamp,
  }
}

export const tasks = page<{ readonly tasks: Listing<TaskRow> | undefined }>({
  path: '/tasks',
  menu: '/tasks',

  view({ sources, query }) {
    const cache = sources.objects(AdapterTask)
    const fits = matching(query)
    const rows =
      cache &&
      [...cache.values()]
        .map(rowOf)
        .filter((row) => fits(`${row.key} ${row.adapter} ${row.resourceType} ${row.stand.reason}`))
        .toSorted((a, b) => b.stuck - a.stuck || b.failing - a.failing || (a.key < b.key ? -1 : 1))
    return { tasks: rows && paged(rows, query) }
  },

  title: () => 'Adapter tasks',

  sections({ tasks: listing }, { query, now }) {
    if (listing === undefined) return [{ id: 'tasks', body: runsElsewhere('adapter') }]
    return [
      { id: 'filters', body: filter({ path: '/tasks', query, hint: 'name, adapter or type' }) },
      {
        id: 'tasks',
        body: html`${table<TaskRow>({
          caption: 'Adapter tasks',
          columns: [
            { name: 'Task', cell: ({ key }) => html`<a href="${objectPath('tasks', key)}">${key}</a>` },
            { name: 'State', cell: (row) => renderReadiness(row.stand) },
            { name: 'Adapter', cell: ({ adapter }) => adapter },
            { name: 'Type', cell: ({ resourceType }) => resourceType },
            { name: 'Runs', isNumber: true, cell: ({ processed }) => number(processed) },
            { name: 'Under way', isNumber: true, cell: ({ inFlight }) => alarm(inFlight, 'busy') },
            { name: 'Failing', isNumber: true, cell: ({ failing }) => alarm(failing) },
            { name: 'Deleting', isNumber: true, cell: ({ deleting }) => alarm(deleting, 'held') },
            { name: 'Stuck', isNumber: true, cell: ({ stuck }) => alarm(stuck) },
            { name: 'Age', isNumber: true, cell: ({ created }) => age(created, now) },
          ],
          rows: listing.rows,
          key: ({ key }) => key,
          empty: query.has('q') ? 'No task is like that.' : 'There is no AdapterTask yet.',
        })}${pager('/tasks', query, listing)}`,
      },
    ]
  },
})

interface RunRow {
  readonly path: string
  readonly resource: string
  readonly status: Trace['status']
  readonly mode: Trace['mode']
  /** RFC 3339. */
  readonly startedAt: string
  /** Milliseconds. */
  readonly duration: number
  readonly summary: string
}

const runRow = (run: AdapterRun): RunRow => {
  const { status, mode, startedAt, duration } = run.trace
  return {
    path: runPath(run),
    resource: run.resource,
    status,
    mode,
    startedAt,
    duration,
    summary: summarizeRun(run.trace),
  }
}

interface TaskDetail extends TaskRow {
  readonly suspended: boolean
  readonly failed: number
  readonly skipped: number
  readonly deadLetters: number
  readonly lastError: string | undefined
  /** Undefined when another replica works on the task. */
  readonly runs: Listing<RunRow> | undefined
  readonly conditions: readonly Condition[]
  readonly kubectl: string
}

export const task = page<TaskDetail>({
  path: '/tasks/:namespace/:name',
  menu: '/tasks',

  view({ params: { namespace = '', name = '' }, sources, query }) {
    const key = `${namespace}/${name}`
    const found = sources.objects(AdapterTask)?.get(key)
    if (found === undefined) return undefined
    const { status, spec, metadata } = found
    const fits = matching(query)
    const selected = query.get('state')
    const book = sources.runs()
    const runs =
      book &&
      runsOf(book, key)
        .map(runRow)
        .filter((run) => fits(`${run.resource} ${run.summary}`) && (selected === null || run.status === selected))
    return {
      ...rowOf(found),
      suspended: spec.suspend,
      failed: status?.failed ?? 0,
      skipped: status?.skipped ?? 0,
      deadLetters: status?.deadLetters ?? 0,
      lastError: status?.lastError,
      runs: runs && paged(runs, query),
      conditions: status?.conditions ?? [],
      kubectl: describeLine(AdapterTask, metadata),
    }
  },

  title: ({ key }) => key,

  sections(model, { query, now }) {
    const path = objectPath('tasks', model.key)
    const { runs } = model
    return [
      {
        id: 'state',
        body: html`${facts([
          ['State', html`${renderReadiness(model.stand)} <span class="message">${model.stand.message}</span>`],
          ['Adapter', html`${model.adapter}, for ${model.resourceType}`],
          [
            'Runs',
            `${number(model.processed)}: ${number(model.failed)} failed, ${number(model.skipped)} skipped, ${number(model.inFlight)} under way`,
          ],
          [
            'Resources',
            html`${alarm(model.failing)} failing, ${alarm(model.deleting, 'held')} in deletion, ${alarm(model.stuck)} stuck`,
          ],
          ['Dead letters', model.deadLetters === 0 ? undefined : alarm(model.deadLetters, 'warn')],
          ['Last error', model.lastError],
        ])}${command(model.kubectl)}`,
      },
      {
        id: 'runs',
        heading: 'Last runs',
        body:
          runs === undefined
            ? html`<p class="empty">No run of it is known here: runs are kept by the manager that works on the task.</p>`
            : html`${filter({ path, query, hint: 'resource or what it came to' })}${table<RunRow>({
                caption: 'Last runs',
                columns: [
                  {
                    name: 'Resource',
                    cell: ({ path: to, resource }) => html`<a href="${to}">${resource}</a>`,
                  },
                  { name: 'Outcome', cell: ({ status }) => state(RUN_TONES[status], status) },
                  { name: 'Mode', cell: ({ mode }) => mode },
                  { name: 'Took', isNumber: true, cell: ({ duration }) => formatDuration(duration) },
                  { name: 'Ago', isNumber: true, cell: ({ startedAt }) => age(startedAt, now) },
                  { name: 'What it came to', isWide: true, cell: (run) => run.summary },
                ],
                rows: runs.rows,
                key: (row) => row.path,
                empty: 'No run is like that.',
              })}${pager(path, query, runs)}`,
      },
      { id: 'conditions', heading: 'Conditions', body: conditionTable(model.conditions, now) },
    ]
  },
})
