import { LIB_ERRORS } from '../errors/catalogue.ts'
import { errorOf } from '../errors/error-of.ts'

/**
 * What one evaluation may use. The evaluator is synchronous, so nothing outside can stop it: it counts its own steps and
 * sizes instead, and ends itself. A step is one node of the expression evaluated once; work that grows with its operands
 * (text, patterns, comparisons of lists) costs more steps.
 */
export interface Limits {
  /** Characters of an expression. */
  readonly expression: number
  /** Elements of one list or entries of one map, given or made. */
  readonly elements: number
  /** Characters of one text, bytes of one byte sequence, given or made. */
  readonly text: number
  /** Levels of lists and maps inside each other in inputs and results. */
  readonly depth: number
  /** Characters and values of a result altogether. */
  readonly result: number
  /** Steps of one evaluation: one million take about a tenth of a second. */
  readonly steps: number
  /** Milliseconds of one evaluation: the wall behind `steps` on a slow machine. */
  readonly time: number
}

export const DEFAULT_LIMITS: Limits = {
  expression: 16_384,
  elements: 10_000,
  text: 1_048_576,
  depth: 100,
  result: 1_048_576,
  steps: 1_000_000,
  time: 5_000,
}

/** Which limit was met; becomes a CelLimitError where the expression is known. */
export class LimitReached extends errorOf(LIB_ERRORS, 'LimitReached') {
  readonly limit: keyof Limits
  constructor(limit: keyof Limits, message: string) {
    super(message)
    this.limit = limit
  }
}

/** Steps between two looks at the clock: a look costs more than a step. */
const STEPS_BETWEEN_LOOKS = 256

/** Characters of a text that are read in about the time of one step. */
const CHARACTERS_A_STEP = 256

/** Is told what was used, beside the limits of one evaluation; may throw to end it. `chars` are those of results. */
export type Spend = (steps: number, chars: number) => void

/** Counts one evaluation. */
export class Meter {
  readonly limits: Limits
  readonly #now: () => number
  readonly #started: number
  readonly #spend: Spend
  #steps = 0
  #spent = 0
  #nextLook = STEPS_BETWEEN_LOOKS

  /** @param now milliseconds of a monotonic clock */
  constructor(limits: Limits, now: () => number, spend: Spend = () => undefined) {
    this.limits = limits
    this.#now = now
    this.#started = now()
    this.#spend = spend
  }

  /** Steps taken so far. */
  get steps(): number {
    return this.#steps
  }

  /** @throws LimitReached when the evaluation has used up its steps or its time */
  charge(steps: number): void {
    this.#steps += steps
    if (this.#steps < this.#nextLook) return
    this.#nextLook = this.#steps + STEPS_BETWEEN_LOOKS
    this.spend(0)
    const { steps: most, time } = this.limits
    if (this.#steps > most) {
      throw new LimitReached('steps', `the expression takes more than ${most} steps: look at fewer elements`)
    }
    if (this.#now() - this.#started > time) {
      throw new LimitReached('time', `the expression takes longer than ${time} ms: look at fewer elements`)
    }
  }

  /** Hands on what was not handed on yet. @param chars of the result */
  spend(chars: number): void {
    const steps = this.#steps - this.#spent
    this.#spent = this.#steps
    this.#spend(steps, chars)
  }

  /** Charges for a value that was made or handed on. @throws LimitReached when it is too large */
  weigh(value: unknown): void {
    if (typeof value === 'string') {
      if (value.length > this.limits.text) throw tooLong(this.limits)
      if (value.length > CHARACTERS_A_STEP) this.charge(value.length / CHARACTERS_A_STEP)
    } else if (Array.isArray(value)) {
      if (value.length > this.limits.elements) throw tooMany(this.limits)
    } else if (value instanceof Uint8Array) {
      if (value.length > this.limits.text) throw tooLong(this.limits)
      this.charge(value.length / CHARACTERS_A_STEP)
    }
  }
}

export const tooLong = ({ text }: Limits): LimitReached =>
  new LimitReached('text', `a text is longer than ${text} characters`)

export const tooMany = ({ elements }: Limits): LimitReached =>
  new LimitReached('elements', `a list or map has more than ${elements} elements`)

export const tooDeep = ({ depth }: Limits): LimitReached =>
  new LimitReached('depth', `a value has lists and maps more than ${depth} levels deep`)
