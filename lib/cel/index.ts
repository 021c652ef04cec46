/**
 * Expressions in the Common Expression Language, for any controller or service: `environment({ variables }).compile(text)`
 * checks an expression, `evaluate(values)` runs it within limits.
 */
export { type Environment, environment, type Program } from './environment.ts'
export { CelCompileError, CelError, CelEvaluationError, CelLimitError } from './errors.ts'
export type { CelFunction } from './functions/function.ts'
export { standardFunctions } from './functions/standard.ts'
export { toJson } from './json.ts'
export { DEFAULT_LIMITS } from './limits.ts'
