/**
 * Expressions in the Common Expression Language, for any controller or service: `environment({ variables }).compile(text)`
 * checks an expression, `evaluate(values)` runs it within limits.
 */
export {
  type CelType,
  type CompileOptions,
  type Environment,
  type EnvironmentOptions,
  environment,
  type Program,
} from './environment.ts'
export { CelCompileError, CelError, CelEvaluationError, CelLimitError, type Place } from './errors.ts'
export { type CelFunction, functionError } from './functions/function.ts'
export { standardFunctions } from './functions/standard.ts'
export { type Json, toJson } from './json.ts'
export { DEFAULT_LIMITS, type Limits } from './limits.ts'
export { Duration } from './values.ts'
