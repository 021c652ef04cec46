import { errorOf } from '#lib/errors/error-of.ts'
import { API_ERRORS } from '../../errors.ts'
import type { AdapterStatus, Condition, JsonObject, Resource } from '../resource.ts'
import type { Timestamp } from '../timestamp.ts'
import { buildCondition, type ConditionValue } from './condition-value.ts'

/**
 * Conditions that a kind's configuration adds by CEL expressions; they never replace the API's own (API-21).
 */
export interface ComputedCondition {
  readonly type: string
  /** What the expressions say; undefined when the rule does not apply. @throws ComputeError */
  evaluate(facts: ExpressionVariables): Pick<Condition, 'status' | 'reason' | 'message'> | undefined
}

/** The variables of the expressions. */
export interface ExpressionVariables {
  readonly statuses: readonly JsonObject[]
  readonly resource: JsonObject
}

/** A rule has no value for these facts; the message says why. */
export class ComputeError extends errorOf(API_ERRORS, 'ComputeError') {}

/**
 * The computed conditions of a resource.
 *
 * A rule that fails must not cost the report that it was evaluated for: its condition keeps the status, the generation
 * and the time that it had, and says with reason `EvaluationFailed` that it could not be evaluated. Without anything to
 * keep it is False.
 * @param resource with the conditions that were aggregated, and no computed ones: these don't depend on each other
 */
export const computeConditions = (
  rules: readonly ComputedCondition[],
  resource: Resource,
  rows: readonly AdapterStatus[],
  previous: readonly Condition[],
): Condition[] => {
  if (rules.length === 0) return []
  const variables = { statuses: listStatuses(rows), resource: resource as unknown as JsonObject }
  const fresh = { observed_generation: resource.generation, last_updated_time: newestTime(resource, rows) }
  return rules.flatMap((rule) => {
    const before = previous.find(({ type }) => type === rule.type)
    const verdict = evaluateRule(rule, variables, before, fresh)
    return verdict === undefined ? [] : [buildCondition(rule.type, verdict, before, resource.updated_time)]
  })
}

type Freshness = Pick<ConditionValue, 'observed_generation' | 'last_updated_time'>

const evaluateRule = (
  rule: ComputedCondition,
  facts: ExpressionVariables,
  before: Condition | undefined,
  fresh: Freshness,
): ConditionValue | undefined => {
  try {
    const value = rule.evaluate(facts)
    return value && { ...value, ...fresh }
  } catch (error) {
    if (!(error instanceof ComputeError)) throw error
    const { observed_generation, last_updated_time } = before ?? fresh
    return {
      status: before?.status ?? 'False',
      reason: 'EvaluationFailed',
      message: error.message,
      observed_generation,
      last_updated_time,
    }
  }
}

/** Reports by adapter name, so that their order of arrival tells nothing. What is Unknown is not there: it says nothing. */
const listStatuses = (rows: readonly AdapterStatus[]): JsonObject[] =>
  rows
    .toSorted((a, b) => (a.adapter < b.adapter ? -1 : 1))
    .map(({ adapter, observed_generation, conditions, data, last_report_time }) => ({
      adapter,
      observed_generation,
      conditions: conditions
        .filter(({ status }) => status !== 'Unknown')
        .map(({ type, status, reason = '', message = '' }) => ({ type, status, reason, message })),
      data,
      last_report_time,
    }))

/** When the facts last changed. */
const newestTime = ({ updated_time }: Resource, rows: readonly AdapterStatus[]): Timestamp =>
  [updated_time, ...rows.map(({ last_report_time }) => last_report_time)].sort().at(-1) ?? updated_time
