/** One pass over objects of a test, and what it decided in short lines. */

import { decide } from '#controllers/clusterpool/decide.ts'
import { explain } from '#controllers/clusterpool/explain.ts'
import { type PoolObjects, toObserved } from '#controllers/clusterpool/model/observed.ts'
import type { Action, Plan } from '#controllers/clusterpool/model/plan.ts'
import { aPool, minutes } from './builders.ts'

/** What to look at; whatever is left out is empty. */
export type Scenario = Partial<PoolObjects> & { readonly at?: number }

/** Plans one pass; new clusters are called pool-1, pool-2 and so on. @param at Minutes since the morning. */
export const planPass = ({ at = 60, ...given }: Scenario): Plan => {
  let count = 0
  const read: PoolObjects = { pool: aPool(), clusters: [], claims: [], customizations: [], ...given }
  return decide(toObserved(read), {
    now: minutes(at),
    suffix: () => {
      count += 1
      return String(count)
    },
  })
}

/** The objects of one kind of action. */
export const targetsOf = (plan: Plan, action: Action['action']): readonly string[] =>
  explain(plan)
    .actions.filter((one) => one.action === action)
    .map((one) => one.about)

/** Everything that changes something besides the pool's status. */
export const changesIn = (plan: Plan): readonly string[] =>
  explain(plan)
    .actions.filter(({ action }) => action !== 'WriteStatus' && action !== 'Wait')
    .map((one) => `${one.action} ${one.about}`)

const written = (plan: Plan) => plan.actions.find((action) => action.action === 'WriteStatus')

export const statusIn = (plan: Plan) => {
  const write = written(plan)
  if (write === undefined) throw new Error('the plan writes no status')
  return write.status
}

/** A condition that the plan writes, as "status/reason: message". */
export const conditionIn = (plan: Plan, type: string): string => {
  const found = statusIn(plan).conditions?.find((condition) => condition.type === type)
  return found === undefined ? 'none' : `${found.status}/${found.reason}: ${found.message}`
}

/** The statuses of the entries. */
export const entriesIn = (plan: Plan) =>
  Object.fromEntries(Object.entries(statusIn(plan).inventory ?? {}).map(([name, { status }]) => [name, status]))
