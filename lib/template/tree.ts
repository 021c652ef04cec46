/** What a template is made of, after parsing. `at` is the offset in its text. */

export type Part =
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  | { readonly kind: 'action'; readonly pipeline: Pipeline; readonly at: number }
  | Branch
  | { readonly kind: 'break' | 'continue'; readonly at: number }
  | { readonly kind: 'template'; readonly name: string; readonly pipeline: Pipeline | undefined; readonly at: number }

export interface Branch {
  readonly kind: 'if' | 'with' | 'range'
  readonly pipeline: Pipeline
  readonly body: readonly Part[]
  readonly otherwise: readonly Part[]
  readonly at: number
}

export interface Pipeline {
  /** Variables that get the value, with their `$`; two only in a range. */
  readonly variables: readonly string[]
  /** `=` changes variables that are there, `:=` makes new ones. */
  readonly assigns: boolean
  /** At least one; each gets the value of the one before as its last argument. */
  readonly commands: readonly Command[]
  readonly at: number
}

/** A function or value, and its arguments. */
export type Command = readonly [Operand, ...Operand[]]

export type Operand =
  | { readonly kind: 'dot' | 'nil'; readonly at: number }
  /** A bigint is one of Go's ints, a number a float64. */
  | { readonly kind: 'constant'; readonly value: string | boolean | bigint | number; readonly at: number }
  | { readonly kind: 'field'; readonly path: readonly string[]; readonly at: number }
  | { readonly kind: 'variable'; readonly name: string; readonly path: readonly string[]; readonly at: number }
  | { readonly kind: 'function'; readonly name: string; readonly at: number }
  | { readonly kind: 'pipeline'; readonly pipeline: Pipeline; readonly at: number }
  /** `(…).a.b` and `now.UTC`. */
  | { readonly kind: 'chain'; readonly of: Operand; readonly path: readonly string[]; readonly at: number }

export interface Tree {
  readonly main: readonly Part[]
  /** What `define` and `block` name. */
  readonly defined: ReadonlyMap<string, readonly Part[]>
  /** Names that the template takes from its data, first fields only: `.a.b` takes `a`. */
  readonly names: ReadonlySet<string>
}
