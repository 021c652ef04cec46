/** A task that can't be run as it is written: everything that is wrong with it, each with its place and what to write. */
export interface TaskProblem {
  /** Where, as in the file: `resources[1].delete_options.after[0]`. */
  readonly path: string
  /** What is wrong, and what to write instead. */
  readonly message: string
}

export class InvalidTaskError extends Error {
  readonly problems: readonly TaskProblem[]
  constructor(problems: readonly TaskProblem[]) {
    super(problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; '))
    this.name = 'InvalidTaskError'
    this.problems = problems
  }
}

/** Collects problems, so that a writer sees all of them at once. */
export class Problems {
  readonly #found: TaskProblem[] = []

  add(path: string, message: string): void {
    this.#found.push({ path, message })
  }

  get isEmpty(): boolean {
    return this.#found.length === 0
  }

  /** @throws InvalidTaskError when there are any */
  throwIfAny(): void {
    if (!this.isEmpty) throw new InvalidTaskError(this.#found)
  }
}
