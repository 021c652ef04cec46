/** The CEL of tasks: what an expression may name, and the functions that tasks have beyond the standard ones. */
import { type Environment, environment } from '#lib/cel/index.ts'
import { taskFunctions } from './functions.ts'

/** Variables that every task has; a param with such a name would never be seen. */
export const RESERVED_VARIABLES = ['adapter', 'config', 'env', 'event', 'resources'] as const

/**
 * The environment of one task's expressions. JSON's null is absent for `has()` and `.?`: an API that writes
 * `"deleted_time": null` must not make a task delete a live cluster.
 * @param names the task's params and captures, top-level names of their own
 * @param now the time that `now()`, `conditionAge` and `stableFor` go by
 */
export const taskExpressions = (names: readonly string[], now: () => Date): Environment => {
  const variables = Object.fromEntries([...RESERVED_VARIABLES, ...names].map((name) => [name, 'dyn']))
  return environment({ variables, functions: taskFunctions(now), nullIsAbsent: true })
}
