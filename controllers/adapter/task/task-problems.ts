import { errorOf } from '#lib/errors/error-of.ts'
import { ADAPTER_ERRORS } from '../errors.ts'
import type { Task } from './task.ts'

/** One thing that is wrong with a task. */
export interface TaskProblem {
  /** Where, as in the file: `resources[1].delete_options.after[0]`. */
  readonly path: string
  /** What is wrong, and what to write instead. */
  readonly message: string
}

/** A task that can't be run as it is written: everything that is wrong with it, each with its place and what to write. ADAPTER-57. */
export class InvalidTaskError extends errorOf(ADAPTER_ERRORS, 'InvalidTaskError') {
  readonly problems: readonly TaskProblem[]
  /** The task when nothing is wrong but the order of its deletion: what lives can be looked after, and each deletion says what is wrong. */
  readonly task: Task | undefined
  constructor(problems: readonly TaskProblem[], task?: Task) {
    super(problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; '))
    this.problems = problems
    this.task = task
  }
}

/** Collects problems, so that a writer sees all of them at once. */
export class ProblemList {
  readonly #found: TaskProblem[] = []

  /** The same is said once: some texts are compiled for several purposes. */
  add(path: string, message: string): void {
    if (this.#found.some((known) => known.path === path && known.message === message)) return
    this.#found.push({ path, message })
  }

  get isEmpty(): boolean {
    return this.#found.length === 0
  }

  /** @param task what can be run all the same. @throws InvalidTaskError when there are any */
  throwIfAny(task?: Task): void {
    if (!this.isEmpty) throw new InvalidTaskError(this.#found, task)
  }
}
