import { CelCompileError, CelEvaluationError, environment, type Program } from '#lib/cel/index.ts'
import { truncateText } from '#lib/text/truncate.ts'
import { EntityError } from '../entity-check.ts'
import type { ConditionRule, EntityConfig } from '../entity-config.ts'
import type { Condition } from '../resource.ts'
import { adapterConditionType } from './adapter.ts'
import { type ComputedCondition, ComputeError, type Facts } from './computed.ts'
import { conditionFunctions } from './functions.ts'

/** Imported only when a kind has rules: the CEL engine is a good part of an idle process. */

const TYPE = /^[A-Z][A-Za-z0-9]{0,99}$/
/** What the API itself says of every resource: rules add, they never replace. */
const RESERVED = ['Available', 'Ready', 'LastKnownReconciled', 'Reconciled']
const LONGEST_REASON = 256
const LONGEST_MESSAGE = 2048

const cel = environment({
  variables: { statuses: 'list<dyn>', resource: 'map<string, dyn>' },
  functions: conditionFunctions,
  // About ten milliseconds for an expression: rules run inside of the transaction of a report.
  limits: { steps: 100_000 },
  nullIsAbsent: true,
})

/** Compiles the rules of a kind. @throws EntityError that says which rule is wrong and what to write */
export const compileConditions = (config: EntityConfig): ComputedCondition[] => {
  const { kind, conditions = [] } = config
  const seen = new Set<string>()
  return conditions.map((rule) => {
    const { type } = rule
    if (!TYPE.test(type))
      throw new EntityError(`condition ${JSON.stringify(type)} of ${kind} must be UpperCamelCase, such as ZoneReady`)
    if (isReserved(config, type))
      throw new EntityError(`condition ${type} of ${kind} is the API's own, choose another type`)
    if (seen.has(type)) throw new EntityError(`condition ${type} of ${kind} is there twice, remove one`)
    seen.add(type)
    return { type, evaluate: evaluator(kind, rule) }
  })
}

const isReserved = ({ required_adapters = [] }: EntityConfig, type: string): boolean =>
  RESERVED.includes(type) ||
  (required_adapters === 'reporting'
    ? type.endsWith(adapterConditionType(''))
    : required_adapters.some((adapter) => adapterConditionType(adapter) === type))

const evaluator = (kind: string, { type, when, output }: ConditionRule): ComputedCondition['evaluate'] => {
  const program = (part: string, { expression }: { readonly expression: string }, result: 'bool' | 'string') => {
    try {
      return { part, run: cel.compile(expression, { result }) }
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      throw new EntityError(`${part} of condition ${type} of ${kind}: ${error.message}`)
    }
  }
  const applies = program('when', when, 'bool')
  const status = program('status', output.status, 'string')
  const reason = program('reason', output.reason, 'string')
  const message = program('message', output.message, 'string')
  return (facts) => {
    const isApplied = evaluated(applies, facts)
    if (typeof isApplied !== 'boolean')
      throw new ComputeError(`when gives ${shown(isApplied)}, it must be true or false`)
    if (!isApplied) return undefined
    return {
      status: statusOf(evaluated(status, facts)),
      reason: reasonOf(evaluated(reason, facts)),
      message: messageOf(evaluated(message, facts)),
    }
  }
}

interface Part {
  readonly part: string
  readonly run: Program
}

const evaluated = ({ part, run }: Part, facts: Facts): unknown => {
  try {
    return run.evaluate({ ...facts })
  } catch (error) {
    if (!(error instanceof CelEvaluationError)) throw error
    throw new ComputeError(cut(`${part} has no value: ${error.message}`))
  }
}

const statusOf = (value: unknown): Condition['status'] => {
  const word = typeof value === 'string' ? value.toLowerCase() : undefined
  if (word === 'true') return 'True'
  if (word === 'false') return 'False'
  throw new ComputeError(`status gives ${shown(value)}, it must be "True" or "False"`)
}

const reasonOf = (value: unknown): string => {
  if (typeof value !== 'string') throw new ComputeError(`reason gives ${shown(value)}, it must be text`)
  if (Buffer.byteLength(value) > LONGEST_REASON)
    throw new ComputeError(`reason gives more than ${LONGEST_REASON} bytes: ${shown(value)}`)
  return stored(value)
}

const messageOf = (value: unknown): string => {
  if (typeof value !== 'string') throw new ComputeError(`message gives ${shown(value)}, it must be text`)
  return cut(stored(value))
}

/** What CEL can make and a database can't take is left out. */
const stored = (text: string): string => text.replaceAll('\0', '').toWellFormed()

const cut = (text: string): string => truncateText(text, LONGEST_MESSAGE)

const shown = (value: unknown): string => {
  const text = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'nothing')
  return stored(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}
