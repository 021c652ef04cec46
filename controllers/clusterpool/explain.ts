/** A plan for people and for programs: `muster pool plan NAME`. */

import { keyOf } from './model/names.ts'
import type { Action, Plan } from './model/plan.ts'

/** What is said of an action: documents and statuses are left out, they can be had from the objects themselves. */
export interface ExplainedAction {
  readonly action: Action['action']
  /** The object that it is about. */
  readonly about: string
  readonly why: string
}

export interface Explanation {
  readonly pool: string
  readonly actions: readonly ExplainedAction[]
  /** RFC 3339; absent when only a change changes the plan. */
  readonly lookAgainAt?: string
}

/** A plan as JSON. */
export const explain = ({ pool, actions, recheckAt }: Plan): Explanation => ({
  pool: keyOf(pool),
  actions: actions.map((action) => ({ action: action.action, about: targetOf(action), why: action.why })),
  ...(recheckAt !== undefined && { lookAgainAt: recheckAt.toISOString() }),
})

/** A plan as text, one action a line, ending in a newline. */
export const explainText = (plan: Plan): string => {
  const { pool, actions, lookAgainAt } = explain(plan)
  const widest = (key: 'action' | 'about') => Math.max(0, ...actions.map((action) => action[key].length))
  const [first, second] = [widest('action'), widest('about')]
  const lines = actions.map(({ action, about, why }) => `  ${action.padEnd(first)}  ${about.padEnd(second)}  ${why}`)
  const head = actions.length === 0 ? `${pool}: nothing to do` : `${pool}:`
  const end = lookAgainAt === undefined ? [] : [`looks again at ${lookAgainAt}`]
  return `${[head, ...lines, ...end].join('\n')}\n`
}

const targetOf = (action: Action): string => {
  switch (action.action) {
    case 'WriteStatus':
    case 'RemovePoolFinalizer':
      return 'pool'
    case 'CreateCluster':
      return `${action.cluster.name}${action.customization === undefined ? '' : ` with ${action.customization.name}`}`
    case 'DeleteCluster':
    case 'RemoveClusterFinalizer':
      return action.cluster.name
    case 'SetPower':
      return `${action.cluster.name} ${action.power}`
    case 'RepairLease':
    case 'ReleaseLease':
      return action.customization.name
    case 'AssignClaim':
    case 'ClearClaim':
      return `${action.claim.name} and ${action.cluster.name}`
    case 'QueueClaim':
      return `${action.claim.name} at ${action.position}`
    case 'BindAdmins':
      return action.namespace
    case 'BindProvider':
      return `${action.role.name} in ${action.namespace}`
    case 'DeleteNamespace':
      return action.name
    case 'Wait':
      return action.about
  }
}
