import type { Value } from '../value.ts'

/** What a parameter takes: a text, a time, or any value. */
type Parameter = 'string' | 'time' | 'any'

export interface TemplateFunction {
  readonly name: string
  /** One sentence for people who write templates. */
  readonly description: string
  /** How it is called, for people. */
  readonly usage: string
  readonly parameters: readonly Parameter[]
  /** What all further arguments are; none may follow when undefined. */
  readonly rest?: Parameter
  /** Throws Refusal. */
  readonly call: (...args: never[]) => Value
}
