import { TemplateRenderError } from './errors.ts'
import type { Value } from './value.ts'

export interface RenderLimits {
  /** Characters of the result. */
  readonly output: number
  /** Parts and functions that one rendering may go through. */
  readonly steps: number
  /** Milliseconds of one rendering: the wall behind `steps`. */
  readonly time: number
  /** Templates that call each other. */
  readonly depth: number
}

export const RENDER_LIMITS: RenderLimits = { output: 1_048_576, steps: 100_000, time: 5_000, depth: 100 }

/** Characters that are handled in about the time of one step. */
const CHARACTERS_A_STEP = 64

/** Steps between two looks at the clock. */
const STEPS_BETWEEN_LOOKS = 64

/** Is told what was used, beside the limits of one rendering; may throw to end it. `chars` are those of the result. */
export type Spend = (steps: number, chars: number) => void

/** What one rendering has used of its limits, and the text that it has written. */
export class RenderBudget {
  readonly #text: string
  readonly #limits: RenderLimits
  readonly #monotonic: () => number
  readonly #started: number
  readonly #output: string[] = []
  readonly #spend: Spend
  #length = 0
  #steps = 0
  #spent = 0
  #nextLook = STEPS_BETWEEN_LOOKS

  /** @param text the template's, for errors. @param monotonic milliseconds of a monotonic clock */
  constructor(text: string, limits: RenderLimits, monotonic: () => number, spend: Spend = () => undefined) {
    this.#text = text
    this.#limits = limits
    this.#monotonic = monotonic
    this.#spend = spend
    this.#started = monotonic()
  }

  /** The text, once it is whole. */
  get output(): string {
    this.#handOn(this.#length)
    return this.#output.join('')
  }

  step(at: number, steps = 1): void {
    this.#steps += steps
    const limits = this.#limits
    if (this.#steps > limits.steps) {
      throw this.#exceeded(`the template takes more than ${limits.steps} steps: go over fewer elements`, at)
    }
    if (this.#steps < this.#nextLook) return
    this.#nextLook = this.#steps + STEPS_BETWEEN_LOOKS
    this.#handOn(0)
    if (this.#monotonic() - this.#started > limits.time) {
      throw this.#exceeded(`the template takes longer than ${limits.time} ms: go over fewer elements`, at)
    }
  }

  /** Texts cost steps by their length, and may not be longer than the result. */
  weigh(value: Value, at: number): void {
    if (typeof value !== 'string') return
    const { output } = this.#limits
    if (value.length > output) throw this.#exceeded(`a text becomes longer than ${output} characters`, at)
    if (value.length > CHARACTERS_A_STEP) this.step(at, value.length / CHARACTERS_A_STEP)
  }

  write(text: string, at: number): void {
    this.#length += text.length
    if (this.#length > this.#limits.output) {
      throw this.#exceeded(`the text becomes longer than ${this.#limits.output} characters`, at)
    }
    this.#output.push(text)
  }

  #handOn(chars: number): void {
    const steps = this.#steps - this.#spent
    this.#spent = this.#steps
    this.#spend(steps, chars)
  }

  #exceeded(summary: string, at: number): TemplateRenderError {
    return new TemplateRenderError(summary, this.#text, at)
  }
}
