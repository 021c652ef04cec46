/** Which variables expressions and templates may use, at each place of a task. */
import { nearest } from '#operator/model/nearest.ts'

/** Always there. `resource` is the HyperFleet resource of the event, `params` all params and captures by name. */
export const GIVEN = ['event', 'resource', 'params', 'adapter', 'config', 'env'] as const
/** There once the resources were looked at. */
export const RESOURCES = 'resources'

/** Words that CEL keeps for itself. cel-spec, langdef, RESERVED. */
const CEL_WORDS =
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  )
const TAKEN: readonly string[] = [...GIVEN, RESOURCES, ...CEL_WORDS]

/** Why a name can't be given to a param, a capture, a precondition or a payload; undefined when it can. */
export const nameProblem = (name: string): string | undefined =>
  TAKEN.includes(name) ? `${name} is already the name of something else: write another one` : undefined

/** The names that are known so far; they grow as a task is read from its start to its end. */
export class Names {
  readonly #known: Set<string>
  constructor(known: Iterable<string> = GIVEN) {
    this.#known = new Set(known)
  }

  add(name: string): void {
    this.#known.add(name)
  }

  has(name: string): boolean {
    return this.#known.has(name)
  }

  /** These and others. */
  with(...names: readonly string[]): Names {
    return new Names([...this.#known, ...names])
  }

  /** What to say about a name that is not known: the near one, or that it comes later. */
  hint(name: string, all: Names): string {
    if (all.has(name)) return `${name} is not known here yet: it comes later in the task`
    const near = nearest(name, [...this.#known])
    const choice = near === undefined ? `write one of ${[...this.#known].join(', ')}` : `did you mean ${near}?`
    return `there is no variable ${name}: ${choice}`
  }

  get all(): readonly string[] {
    return [...this.#known]
  }
}
