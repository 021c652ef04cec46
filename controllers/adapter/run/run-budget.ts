/**
 * What all templates, expressions and JSONPaths of one run may use together. Each has limits of its own too; a task of a thousand of
 * them has not a thousand times as much. ADAPTER-84.
 */
import { setImmediate } from 'node:timers/promises'
import { TaskError } from './task-error.ts'

/** Of one run. */
export interface RunLimits {
  readonly steps: number
  readonly chars: number
  readonly timeMs: number
}

/** A step is one of CEL: ten million take about a second. Characters are those of results. */
export const RUN_LIMITS: RunLimits = { steps: 10_000_000, chars: 16 * 1024 * 1024, timeMs: 5_000 }

/** Under which the values of a run have its budget. No text of a task can name it. */
export const BUDGET = Symbol('budget')

/** Without one, each text has a budget of its own. */
export interface Budgeted {
  readonly [BUDGET]?: RunBudget
}

export const budgetOf = (values: Budgeted): RunBudget => values[BUDGET] ?? new RunBudget()

/** Steps after which other work of the process gets a turn: about ten milliseconds. */
const STEPS_A_TURN = 100_000

/** Steps between two looks at the clock. */
const STEPS_BETWEEN_LOOKS = 1_000

const processorTimeMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Is told what was used while something is evaluated. @throws TaskError when the run has used up its budget */
export type Spend = (steps: number, chars: number) => void

export class RunBudget {
  readonly #limits: RunLimits
  readonly #now: () => number
  #steps = 0
  #chars = 0
  /** Of evaluations that have ended. */
  #elapsedMs = 0
  #nextLook = STEPS_BETWEEN_LOOKS
  #turnAt = STEPS_A_TURN

  /** @param now milliseconds of a clock that only goes forward; by default the processor's, or a busy machine would fail runs */
  constructor(limits = RUN_LIMITS, now: () => number = processorTimeMs) {
    this.#limits = limits
    this.#now = now
  }

  get used(): { readonly steps: number; readonly chars: number } {
    return { steps: this.#steps, chars: this.#chars }
  }

  /**
   * Evaluates one text of the task.
   * @param field where the task has it, for the error
   * @throws TaskError when the run has used up its budget, and whatever the evaluation throws
   */
  evaluate<T>(field: string, evaluation: (spend: Spend) => T): T {
    const startedAt = this.#now()
    const elapsed = () => this.#elapsedMs + this.#now() - startedAt
    const check = () => {
      const exceeded = this.#exceeded(elapsed())
      if (exceeded !== undefined)
        throw new TaskError(
          'BudgetExceeded',
          `${field}: all templates, expressions and paths of one run together take more than ${exceeded}: go over fewer elements, or make two tasks of it`,
        )
    }
    check()
    try {
      const value = evaluation((steps, chars) => {
        this.#steps += steps
        this.#chars += chars
        if (chars === 0 && this.#steps < this.#nextLook) return
        this.#nextLook = this.#steps + STEPS_BETWEEN_LOOKS
        check()
      })
      check()
      return value
    } finally {
      this.#elapsedMs = elapsed()
    }
  }

  /** Lets other work of the process go on, when the run has worked for a while. */
  async giveTurn(): Promise<void> {
    if (this.#steps < this.#turnAt) return
    this.#turnAt = this.#steps + STEPS_A_TURN
    await setImmediate()
  }

  /** Which limit. Once it is exceeded, it stays so. */
  #exceeded(elapsedMs: number): string | undefined {
    const { steps, chars, timeMs } = this.#limits
    if (this.#steps > steps) return `${steps} steps`
    if (this.#chars > chars) return `${chars} characters`
    return elapsedMs > timeMs ? `${timeMs} ms` : undefined
  }
}
