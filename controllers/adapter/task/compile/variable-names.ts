/** Which variables expressions and templates may use, at each place of a task. */
import { PROVIDED, RESERVED, RESOURCES, VARIABLE } from '#apis/hyperfleet.redhat.com/v1alpha1/task/words.ts'
import { nearest } from '#lib/text/nearest.ts'
import { quoteValue } from '#lib/text/quote.ts'

export { PROVIDED, RESOURCES }

const isBuiltIn = (name: string): boolean => PROVIDED.some((provided) => provided === name) || name === RESOURCES

const WORD = new RegExp(VARIABLE)

/** Whether expressions can have it as a variable: it is a word, and none that means something else there. */
export const isVariable = (name: string): boolean => isBuiltIn(name) || (WORD.test(name) && !RESERVED.includes(name))

/** Why a name can't be given to a param, a capture, a precondition or a payload; undefined when it can. */
export const nameProblem = (name: string): string | undefined => {
  if (isBuiltIn(name)) return `${name} is a variable that every task has: write another one`
  if (RESERVED.includes(name)) return `${name} is a word of CEL: write another one`
  return isVariable(name)
    ? undefined
    : `${quoteValue(name)} is no name that expressions can use: write letters, digits and _, such as clusterId`
}

/** The names that are known so far; they grow as a task is read from its start to its end. */
export class VariableNames {
  readonly #known: Set<string>
  constructor(known: Iterable<string> = PROVIDED) {
    this.#known = new Set(known)
  }

  add(name: string): void {
    this.#known.add(name)
  }

  has(name: string): boolean {
    return this.#known.has(name)
  }

  /** These and others. */
  with(...names: readonly string[]): VariableNames {
    return new VariableNames([...this.#known, ...names])
  }

  /** What to say about a name that is not known: the near one, or that it comes later. */
  hint(name: string, all: VariableNames): string {
    if (all.has(name)) return `${name} is not known here yet: it comes later in the task`
    const near = nearest(name, [...this.#known])
    const choice = near === undefined ? `write one of ${[...this.#known].join(', ')}` : `did you mean ${near}?`
    return `there is no variable ${name}: ${choice}`
  }

  get all(): readonly string[] {
    return [...this.#known]
  }
}
