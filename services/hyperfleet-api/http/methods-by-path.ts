import type { Operation } from './operation.ts'

/** The methods that operations have, and OPTIONS, which is answered with what a path takes; HEAD goes wherever GET goes. */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

export type Method = (typeof METHODS)[number]

export interface MethodSplit {
  readonly allowed: readonly Method[]
  readonly rejected: readonly Method[]
}

const splitMethods = (methods: ReadonlySet<Method>): MethodSplit => ({
  allowed: METHODS.filter((method) => methods.has(method)),
  rejected: METHODS.filter((method) => !methods.has(method)),
})

/** Of a path that only gives. */
export const READ_ONLY = splitMethods(new Set(['GET']))

/**
 * Which methods each path takes, and which it refuses. A path that another one with a parameter covers takes that one's
 * methods too: an adapter may be called `history`, and is retired by DELETE …/statuses/history like any other.
 */
export const methodsByPath = (
  operations: readonly Pick<Operation, 'method' | 'path'>[],
): ReadonlyMap<string, MethodSplit> => {
  const paths = new Set(operations.map(({ path }) => path))
  return new Map(
    [...paths].map((path) => {
      const served = new Set(operations.filter((other) => covers(other.path, path)).map(({ method }) => method))
      return [path, splitMethods(served)] as const
    }),
  )
}

/** Does the pattern fit everything that the path fits? `/a/{id}` covers itself and `/a/b`. */
const covers = (pattern: string, path: string): boolean => {
  const [steps, others] = [pattern.split('/'), path.split('/')]
  return steps.length === others.length && steps.every((step, index) => isParameter(step) || step === others[index])
}

const isParameter = (step: string): boolean => step.startsWith('{')
