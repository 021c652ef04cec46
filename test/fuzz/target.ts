/** What is fuzzed: a function that reads what it can't trust. */

/**
 * What a value has been through before it is read. `hyperfleet`: the HyperFleet API, which takes documents of 64 levels with well-formed texts.
 * A field of a kind: the API server of Kubernetes, by the schema of the kind; texts are well-formed, as Go's JSON makes them.
 */
export type Origin = 'anyone' | 'hyperfleet' | { readonly kind: string; readonly field: string }

export interface FuzzTarget {
  /** The file of its sources, and its exports there. */
  readonly file: string
  readonly reads: readonly string[]
  /** A file of the folder `corpus`: texts, or the texts of JSON values. */
  readonly corpus: string
  /** Of values; undefined for a target that takes texts. */
  readonly from?: Origin
  /** The errors by which it refuses an input; `Error` is one of no class. Any other error is a defect. */
  readonly refuses: readonly (abstract new (
    ...args: never[]
  ) => Error)[]
  /** Reads an input, and uses what it has read. */
  read(input: never): void
}

export const ofTexts = (target: Omit<FuzzTarget, 'read' | 'from'> & { read(text: string): void }): FuzzTarget => target

export const ofValues = (
  target: Omit<FuzzTarget, 'read' | 'from'> & { readonly from: Origin; read(value: unknown): void },
): FuzzTarget => target
