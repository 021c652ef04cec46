import { adapterConditionType } from '#apis/hyperfleet.redhat.com/adapter-condition.ts'
import { CelCompileError, CelEvaluationError, environment, type Program } from '#lib/cel/index.ts'
import { truncateText } from '#lib/text/truncate.ts'
import { entityError } from '../check-entity.ts'
import type { ConditionRule, EntityConfig } from '../entity-config.ts'
import type { Condition } from '../resource.ts'
import { conditionFunctions } from './cel-functions.ts'
import { type ComputedCondition, ComputeError, type ExpressionVariables } from './computed.ts'

/** Imported only when a kind has rules: the CEL engine is a good part of an idle process. */

const TYPE = /^[A-Z][A-Za-z0-9]{0,99}$/
/** What the API itself says of every resource: rules add, they never replace. */
const RESERVED = ['Available', 'Ready', 'LastKnownReconciled', 'Reconciled']
const MAX_REASON_BYTES = 256
const MAX_MESSAGE_CHARS = 2048

const cel = environment({
  variables: { statuses: 'list<dyn>', resource: 'map<string, dyn>' },
  functions: conditionFunctions,
  // About ten milliseconds for an expression: rules run inside of the transaction of a report.
  limits: { steps: 100_000 },
  nullIsAbsent: true,
})

/** Compiles the rules of a kind. @throws ConfigError that says which rule is wrong and what to write */
export const compileConditions = (config: EntityConfig): ComputedCondition[] => {
  const { kind, conditions = [] } = config
  const seen = new Set<string>()
  return conditions.map((rule) => {
    const { type } = rule
    if (!TYPE.test(type))
      throw entityError(`condition ${JSON.stringify(type)} of ${kind} must be UpperCamelCase, such as ZoneReady`)
    if (isReserved(config, type))
      throw entityError(`condition ${type} of ${kind} is the API's own, choose another type`)
    if (seen.has(type)) throw entityError(`condition ${type} of ${kind} is there twice, remove one`)
    seen.add(type)
    return { type, evaluate: compileRule(kind, rule) }
  })
}

const isReserved = ({ required_adapters = [] }: EntityConfig, type: string): boolean =>
  RESERVED.includes(type) ||
  (typeof required_adapters === 'string'
    ? type.endsWith(adapterConditionType(''))
    : required_adapters.some((adapter) => adapterConditionType(adapter) === type))

const compileRule = (kind: string, { type, when, output }: ConditionRule): ComputedCondition['evaluate'] => {
  const program = (part: string, { expression }: { readonly expression: string }, result: 'bool' | 'string') => {
    try {
      return { part, run: cel.compile(expression, { result }) }
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      throw entityError(`${part} of condition ${type} of ${kind}: ${error.message}`)
    }
  }
  const applies = program('when', when, 'bool')
  const status = program('status', output.status, 'string')
  const reason = program('reason', output.reason, 'string')
  const message = program('message', output.message, 'string')
  return (facts) => {
    const isApplied = evaluatePart(applies, facts)
    if (typeof isApplied !== 'boolean')
      throw new ComputeError(`when gives ${formatValue(isApplied)}, it must be true or false`)
    if (!isApplied) return undefined
    return {
      status: readStatus(evaluatePart(status, facts)),
      reason: readReason(evaluatePart(reason, facts)),
      message: readMessage(evaluatePart(message, facts)),
    }
  }
}

interface CompiledPart {
  readonly part: string
  readonly run: Program
}

const evaluatePart = ({ part, run }: CompiledPart, facts: ExpressionVariables): unknown => {
  try {
    return run.evaluate({ ...facts })
  } catch (error) {
    if (!(error instanceof CelEvaluationError)) throw error
    throw new ComputeError(truncate(`${part} has no value: ${error.message}`))
  }
}

const readStatus = (value: unknown): Condition['status'] => {
  const word = typeof value === 'string' ? value.toLowerCase() : undefined
  if (word === 'true') return 'True'
  if (word === 'false') return 'False'
  throw new ComputeError(`status gives ${formatValue(value)}, it must be "True" or "False"`)
}

const readReason = (value: unknown): string => {
  if (typeof value !== 'string') throw new ComputeError(`reason gives ${formatValue(value)}, it must be text`)
  if (Buffer.byteLength(value) > MAX_REASON_BYTES)
    throw new ComputeError(`reason gives more than ${MAX_REASON_BYTES} bytes: ${formatValue(value)}`)
  return storable(value)
}

const readMessage = (value: unknown): string => {
  if (typeof value !== 'string') throw new ComputeError(`message gives ${formatValue(value)}, it must be text`)
  return truncate(storable(value))
}

/** What CEL can make and a database can't take is left out. */
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

const truncate = (text: string): string => truncateText(text, MAX_MESSAGE_CHARS)

const formatValue = (value: unknown): string => {
  const text = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'nothing')
  return storable(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}
