/**
 * A validation rule in CEL that the API server evaluates on every write.
 * Kubernetes: `x-kubernetes-validations`. Everything a rule reads must be bounded in size, or the CRD is refused for its cost.
 */
export interface Rule {
  readonly rule: string
  /** What must hold and what to write instead, shown to the client that applied the object. */
  readonly message: string
  /** CEL that makes a message naming the offending part; `message` is used where it fails. */
  readonly messageExpression?: string
  /** Also evaluated when the object is made: `oldSelf` is then an optional without a value. */
  readonly optionalOldSelf?: true
}

/** The schema keyword that carries rules, to be spread into a field's options. */
export const rules = (...list: readonly Rule[]): { 'x-kubernetes-validations': readonly Rule[] } => ({
  'x-kubernetes-validations': list,
})
