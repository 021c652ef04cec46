/**
 * Hints at expressions that can't ever have a value where they are evaluated: they name a resource that the task does not have, or a
 * variable of the environment that it may not read. No reason to refuse the task: such a part may never be reached. ADAPTER-83.
 */
import type { TaskProblem } from '../task-problems.ts'

export interface KnownNames {
  /** The task's resources, and what is found inside them. */
  readonly resources: ReadonlySet<string>
  /** Variables of the environment that tasks may read. */
  readonly environment: ReadonlySet<string>
}

/** @param task as it is written, of the right shape */
export const findValueless = (task: unknown, environment: Iterable<string>): readonly TaskProblem[] => {
  const { resources = [] } = task as { readonly resources?: readonly unknown[] }
  const names = resources.flatMap((resource) => {
    const { name, nested_discoveries: nested = [] } = resource as NamedResource
    return [name, ...nested.map((inner) => inner.name)]
  })
  return walk(task, '', { resources: new Set(names), environment: new Set(environment) })
}

interface NamedResource {
  readonly name: string
  readonly nested_discoveries?: readonly { readonly name: string }[]
}

const EXPRESSION_KEYS = new Set(['expression', 'when_deleting'])

const walk = (value: unknown, path: string, known: KnownNames): readonly TaskProblem[] => {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    if (typeof inner !== 'string' || !EXPRESSION_KEYS.has(key)) return walk(inner, at, known)
    return hintsOf(inner, known).map((message) => ({ path: at, message }))
  })
}

const STRING = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g
/** Not behind a dot, and not what `has()` asks for: that is false, and a value. */
const MEMBER = /(?<![\w.?]|\bhas\(\s*)(resources|env)\.([A-Za-z_]\w*)/g

const hintsOf = (text: string, known: KnownNames): readonly string[] =>
  [...text.replaceAll(STRING, '""').matchAll(MEMBER)].flatMap(([, root = '', name = '']) => {
    const isResource = root === 'resources'
    if ((isResource ? known.resources : known.environment).has(name)) return []
    const why = isResource
      ? `the task has no resource ${name}: write one of its names, or resources.?${name}.hasValue()`
      : `${name} is not among the variables that tasks may read`
    return [`${root}.${name} can't ever have a value, and an expression without a value fails the run: ${why}`]
  })
