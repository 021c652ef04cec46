/**
 * The parts of @marcbachmann/cel-js that its declarations leave out, typed as they are in the pinned version. All that
 * reaches behind its surface goes through this file; the conformance cases notice when an upgrade changes it.
 */
import { type ASTOperator, type Environment, type ErrorLocation, EvaluationError } from '@marcbachmann/cel-js'

/** A static type: `kind` is `dyn`, `primitive`, `list`, `map`, `optional`, `message` or `param`. */
export interface StaticType {
  readonly kind: string
  readonly name: string
  readonly type: string
  readonly hasDynType: boolean
  readonly valueType: StaticType | undefined
  readonly keyType: StaticType | undefined
  readonly unwrappedType: StaticType
  matches(other: StaticType): boolean
  matchesValueType(value: unknown, evaluator: Evaluator): boolean
  unify(registry: unknown, other: StaticType): StaticType | null
}

/** Variables and iteration values that a node sees. */
export interface Scope {
  forkWithVariable(name: string, type: StaticType): Scope
  reuse(parent: Scope): Scope
  setIterValue(value: unknown, evaluator: Evaluator): Scope
}

export interface Checker {
  readonly registry: { getOptionalType(type: StaticType): StaticType }
  readonly createError: (code: string, message: string, node: Node) => Error
  check(node: Node, scope: Scope): StaticType
  getType(name: string): StaticType
  formatType(type: StaticType): string
  checkAccessOnType(node: Node, scope: Scope, type: StaticType, mayMiss?: boolean): StaticType
}

export interface Evaluator {
  run(node: Node, scope: Scope): unknown
  tryEval(node: Node, scope: Scope): unknown
  debugType(value: unknown): StaticType
  readonly objectTypesByConstructor: Map<unknown, { readonly fields?: Readonly<Record<string, unknown>> | undefined }>
}

/** Replaces the check and the evaluation of a node. */
export interface Macro {
  typeCheck(checker: Checker, macro: Macro, scope: Scope): StaticType
  evaluate(evaluator: Evaluator, macro: Macro, scope: Scope): unknown
}

/** A node of the syntax tree; the shape of `args` follows from `op` (see ASTNodeArgsMap of the library). */
export interface Node {
  readonly op: ASTOperator | 'comprehension'
  readonly pos: number
  args: unknown
  readonly start: number
  readonly end: number
  readonly input: string
  checkedType?: StaticType
  evaluate(evaluator: Evaluator, node: Node, scope: Scope): unknown
  setMeta(key: 'macro', value: Macro): Node
  setMeta(key: 'alternate', value: undefined): Node
  setMeta(key: 'async', value: boolean): Node
}

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'op' in value && 'setMeta' in value

/** The nodes directly inside a node, as they were written (macros not yet expanded). */
export const children = ({ args }: Node): Node[] => {
  if (isNode(args)) return [args]
  if (!Array.isArray(args)) return []
  return args.flat(2).filter(isNode)
}

export const rootOf = (parsed: { readonly ast: unknown }): Node => parsed.ast as Node

/** The evaluator of an environment, which the library keeps private: every node is handed it when it is evaluated. */
export const evaluatorOf = (environment: Environment): Evaluator => {
  const probe = environment.parse('0')
  let found: Evaluator | undefined
  rootOf(probe).evaluate = (evaluator) => {
    found = evaluator
  }
  probe()
  if (found === undefined) throw new Error('the CEL library does not hand its evaluator to nodes any more')
  return found
}

/**
 * An error of the expression, which `||`, `&&` and `exists` may absorb.
 * @param node where it happened; functions leave it out, the library adds their call
 */
export const evaluationError = (code: string, message: string, node?: Node): EvaluationError =>
  new EvaluationError(node === undefined ? { code, message } : { code, message, node: node as ErrorLocation })
