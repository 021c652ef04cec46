/** Which variables expressions and templates may use, at each place of a task. */
import { PROVIDED, RESERVED, RESOURCES } from '#apis/hyperfleet.redhat.com/v1alpha1/task/words.ts'
import { nearest } from '#lib/text/nearest.ts'

export { PROVIDED, RESOURCES }

const isBuiltIn = (name: string): boolean => PROVIDED.some((provided) => provided === name) || name === RESOURCES

/** Whether expressions have another meaning for it, so that it can be no variable. */
export const isCelKeyword = (name: string): boolean => RESERVED.includes(name) && !isBuiltIn(name)

/** Why a name can't be given to a param, a capture, a precondition or a payload; undefined when it can. */
export const nameProblem = (name: string): string | undefined =>
  RESERVED.includes(name)
    ? `${name} is ${isBuiltIn(name) ? 'a variable that every task has' : 'a word of CEL'}: write another one`
    : undefined

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
