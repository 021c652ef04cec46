/** One run of an adapter task, step by step: what was decided, what was done, and what it took. */

import type { AdapterRun, AdapterRuns } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import type { Trace } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { html, type Markup } from '#lib/markup/markup.ts'
import { page } from '../page.ts'
import { age } from '../parts/age.ts'
import { objectPath, pathTo } from '../parts/links.ts'
import { facts, table } from '../parts/table.ts'
import { state, type Tone } from '../parts/tone.ts'

/** More than a task has. */
const MAX_RUNS = 1_000

/** The runs of a task, the newest first. @param key `namespace/name` */
export const runsOf = (runs: AdapterRuns, key: string): readonly AdapterRun[] => {
  const [namespace, task] = key.split('/')
  return runs.list({ namespace, task }, MAX_RUNS)
}

export const runPath = ({ namespace, task, id }: AdapterRun): string => pathTo('tasks', namespace, task, 'runs', id)

export const RUN_TONES: Readonly<Record<Trace['status'], Tone>> = { success: 'good', failed: 'bad', skipped: 'dim' }

/** What a run came to, in one line. */
export const summarizeRun = ({ failures, skipReason, resources }: Trace): string =>
  failures[0]?.message ?? skipReason ?? resources.map(({ name, action }) => `${name} ${action}`).join(', ')

/** Milliseconds as people read them. */
export const formatDuration = (duration: number): string =>
  duration < 1000 ? `${Math.round(duration)} ms` : `${(duration / 1000).toFixed(1)} s`

interface Step {
  readonly name: string
  readonly outcome: string
  readonly tone: Tone
  readonly detail: string | undefined
}

/** What did not go as wanted; everything else did, or was rightly left out. */
const TONES: Readonly<Record<string, Tone>> = {
  failed: 'bad',
  leaving: 'held',
  waiting: 'busy',
  recreating: 'busy',
  skipped: 'dim',
  unchanged: 'dim',
  kept: 'dim',
  gone: 'dim',
}

const steps = (trace: Trace): readonly (readonly [string, readonly Step[]])[] => [
  [
    'Preconditions',
    trace.preconditions.map(({ name, met, message }) => ({
      name,
      outcome: met ? 'met' : 'not met',
      tone: met ? 'good' : 'warn',
      detail: message,
    })),
  ],
  [
    'Resources',
    trace.resources.map(({ name, action, object, message }) => ({
      name,
      outcome: action,
      tone: TONES[action] ?? 'good',
      detail: [object, message].filter(Boolean).join(': '),
    })),
  ],
  [
    'Actions',
    trace.actions.map(({ name, status, message }) => ({
      name,
      outcome: status,
      tone: TONES[status] ?? 'good',
      detail: message,
    })),
  ],
  [
    'Requests',
    trace.requests.map(({ method, url, status, attempts }) => ({
      name: `${method} ${url}`,
      outcome: status === undefined ? 'no answer' : String(status),
      tone: status === undefined ? 'bad' : status >= 400 ? 'warn' : 'good',
      detail: attempts > 1 ? `after ${attempts} attempts` : undefined,
    })),
  ],
]

export const run = page<AdapterRun>({
  path: '/tasks/:namespace/:name/runs/:run',
  menu: '/tasks',

  view({ params: { namespace = '', name = '', run: id = '' }, sources }) {
    const runs = sources.runs()
    return runs && runsOf(runs, `${namespace}/${name}`).find((each) => each.id === id)
  },

  title: ({ resource }) => `Run for ${resource}`,

  sections({ namespace, task, resource, trace }, { now }) {
    const key = `${namespace}/${task}`
    return [
      {
        id: 'state',
        body: html`${facts([
          [
            'Outcome',
            html`${state(RUN_TONES[trace.status], trace.status)} <span class="message">${trace.skipReason}</span>`,
          ],
          ['Task', html`<a href="${objectPath('tasks', key)}">${key}</a>`],
          ['Resource', html`<code>${resource}</code>`],
          ['Mode', trace.mode],
          ['Began', html`${age(trace.startedAt, now)} ago, took ${formatDuration(trace.duration)}`],
        ])}${trace.failures.length === 0 ? undefined : failures(trace)}`,
      },
      ...steps(trace).flatMap(([heading, rows]) =>
        rows.length === 0 ? [] : [{ id: heading.toLowerCase(), heading, body: stepTable(heading, rows) }],
      ),
    ]
  },
})

const failures = (trace: Trace): Markup =>
  html`<ul class="failures">${trace.failures.map(
    ({ phase, step, message }) => html`<li>${state('bad', phase)} <strong>${step}</strong> ${message}</li>`,
  )}</ul>`

const stepTable = (heading: string, rows: readonly Step[]): Markup => {
  const placed = rows.map((row, at) => ({ ...row, id: `${heading}-${at}` }))
  return table<Step & { readonly id: string }>({
    caption: heading,
    columns: [
      { name: 'Name', cell: ({ name }) => name },
      { name: 'Outcome', cell: ({ outcome, tone }) => state(tone, outcome) },
      { name: 'Detail', isWide: true, cell: ({ detail }) => detail },
    ],
    rows: placed,
    key: ({ id }) => id,
    empty: '',
  })
}
