/** Conditions of an object, as a table, and what they come to in one word. */

import { html, type Markup } from '#lib/markup/markup.ts'
import { type Condition, findCondition } from '#operator/model/conditions.ts'
import { age } from './age.ts'
import { table } from './table.ts'
import { state, type Tone } from './tone.ts'

export interface Readiness {
  readonly word: 'Ready' | 'On its way' | 'Stalled' | 'Not ready' | 'Unknown' | 'Leaving'
  readonly reason: string
  readonly message: string
  /** RFC 3339. */
  readonly since: string | undefined
}

const TONE: Readonly<Record<Readiness['word'], Tone>> = {
  Ready: 'good',
  'On its way': 'busy',
  Stalled: 'bad',
  'Not ready': 'warn',
  Unknown: 'dim',
  Leaving: 'held',
}

interface ConditionedObject {
  readonly metadata: { readonly deletionTimestamp?: string }
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined
}

/** How an object stands, as kstatus reads its conditions. */
export const summarizeConditions = ({ metadata, status }: ConditionedObject): Readiness => {
  const { conditions } = status ?? {}
  const text = (word: Readiness['word'], condition: Condition | undefined): Readiness => ({
    word,
    reason: condition?.reason ?? '',
    message: condition?.message ?? '',
    since: condition?.lastTransitionTime,
  })
  const stalled = findCondition(conditions, 'Stalled')
  if (stalled?.status === 'True') return text('Stalled', stalled)
  if (metadata.deletionTimestamp !== undefined)
    return { ...text('Leaving', findCondition(conditions, 'Ready')), since: metadata.deletionTimestamp }
  const reconciling = findCondition(conditions, 'Reconciling')
  if (reconciling?.status === 'True') return text('On its way', reconciling)
  const ready = findCondition(conditions, 'Ready')
  if (ready === undefined || ready.status === 'Unknown') return text('Unknown', ready)
  return text(ready.status === 'True' ? 'Ready' : 'Not ready', ready)
}

export const renderReadiness = ({ word, reason }: Readiness): Markup =>
  html`${state(TONE[word], word)}${reason === '' || word === 'Ready' ? undefined : html` <span class="reason">${reason}</span>`}`

export const conditionTable = (conditions: readonly Condition[] | undefined, now: Date): Markup =>
  table({
    caption: 'Conditions',
    columns: [
      { name: 'Condition', cell: ({ type }) => type },
      {
        name: 'Status',
        cell: ({ status }) => state(status === 'Unknown' ? 'dim' : status === 'True' ? 'busy' : 'dim', status),
      },
      { name: 'Reason', cell: ({ reason }) => reason },
      { name: 'For', cell: ({ lastTransitionTime }) => age(lastTransitionTime, now) },
      { name: 'Message', isWide: true, cell: ({ message }) => message },
    ],
    rows: conditions ?? [],
    key: ({ type }) => `condition-${type}`,
    empty: 'It has no conditions yet.',
  })
