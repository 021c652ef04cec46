/**
 * What this engine does otherwise than the library, set into the syntax tree: before the check, calls go to our overloads
 * where the library's own can't be replaced; after it, nodes get our evaluation.
 */
import { has, select, selectOptional } from './access.ts'
import { contained, equal } from './equality.ts'
import { children, type Evaluator, evaluationError, isNode, type Macro, type Node, type Scope } from './library.ts'
import type { Meter } from './limits.ts'
import { keyOf } from './values.ts'

/** Calls whose overloads are all ours, as `name/receiver/parameters`; they are registered under a name of their own. */
export type OwnCalls = ReadonlySet<string>

export const callKey = (name: string, receiver: boolean, parameters: number): string =>
  `${name}/${receiver}/${parameters}`

/** The end of names that only the rewriting may write. */
const OWN = '__own'

export const ownName = (name: string): string => `${name}${OWN}`

/** Text from the library as the author of the expression knows it. */
export const publicText = (text: string): string => text.replaceAll(OWN, '')

const nodes = function* (root: Node): Generator<Node> {
  const waiting = [root]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node
    waiting.push(...children(node))
  }
}

/** Before the check. */
export const prepare = (root: Node, ownCalls: OwnCalls, nullIsAbsent: boolean): void => {
  const present = has(nullIsAbsent)
  for (const node of nodes(root)) {
    if (node.op === '-_' && isSmallestInt(node.args))
      node.setMeta(
        'macro',
        constant('int', () => -TWO_63),
      )
    if (node.op === 'list' && isEmpty(node))
      node.setMeta(
        'macro',
        constant('list', () => []),
      )
    if (node.op === 'map' && isEmpty(node))
      node.setMeta(
        'macro',
        constant('map', () => new Map()),
      )
    if (node.op === 'call') {
      const args = node.args as [string, Node[]]
      refuseOwn(args[0], node)
      if (args[0] === 'has' && args[1].length === 1 && isNode(args[1][0]))
        node.setMeta('macro', hasMacro(args[1][0], present))
      if (ownCalls.has(callKey(args[0], false, args[1].length))) args[0] = ownName(args[0])
    } else if (node.op === 'rcall') {
      const args = node.args as [string, Node, Node[]]
      refuseOwn(args[0], node)
      if (ownCalls.has(callKey(args[0], true, args[2].length))) args[0] = ownName(args[0])
    }
  }
}

const TWO_63 = 2n ** 63n

/** -9223372036854775808 is read as the minus of a number that is no int. */
const isSmallestInt = (operand: unknown): boolean =>
  isNode(operand) && operand.op === 'value' && operand.args === TWO_63

const isEmpty = ({ args }: Node): boolean => Array.isArray(args) && args.length === 0

/** A literal whose type the library leaves open, which some of its checks do not bear: `[]` and `{}`. */
const constant = (type: string, make: () => unknown): Macro => ({
  typeCheck: (checker) => checker.getType(type),
  evaluate: make,
})

const refuseOwn = (name: string, node: Node): void => {
  if (name.endsWith(OWN)) throw evaluationError('no_matching_overload', 'there is no function of this name', node)
}

const hasMacro = (field: Node, present: (evaluator: Evaluator, field: Node, scope: Scope) => boolean): Macro => ({
  typeCheck(checker, _macro, scope) {
    if (field.op !== '.' && field.op !== '.?') {
      throw checker.createError('invalid_macro_argument', 'has() takes one field: write has(a.b)', field)
    }
    checker.check(field, scope)
    return checker.getType('bool')
  },
  evaluate: (evaluator, _macro, scope) => present(evaluator, field, scope),
})

const pair = ({ args }: Node): [Node, Node] => args as [Node, Node]

const isEqual = (evaluator: Evaluator, node: Node, scope: Scope, meter: Meter): boolean => {
  const [left, right] = pair(node)
  return equal(evaluator.run(left, scope), evaluator.run(right, scope), meter)
}

const isIn = (evaluator: Evaluator, node: Node, scope: Scope, meter: Meter): boolean => {
  const [left, right] = pair(node)
  const value = evaluator.run(left, scope)
  const container = evaluator.run(right, scope)
  const result = contained(value, container, meter)
  if (result !== undefined) return result
  throw evaluationError(
    'no_such_overload',
    `"in" needs a list or a map on its right, not ${evaluator.debugType(container).name}`,
    node,
  )
}

const mapLiteral = (evaluator: Evaluator, node: Node, scope: Scope): Map<unknown, unknown> => {
  const map = new Map<unknown, unknown>()
  for (const [keyNode, valueNode] of node.args as [Node, Node][]) {
    const key = keyOf(evaluator.run(keyNode, scope))
    if (typeof key !== 'string' && typeof key !== 'bigint' && typeof key !== 'boolean') {
      throw evaluationError(
        'invalid_map_key',
        `a map key is text, an integer or a bool, not ${evaluator.debugType(key).name}`,
        node,
      )
    }
    if (map.has(key)) throw evaluationError('repeated_key', `the key ${String(key)} is there twice`, node)
    map.set(key, evaluator.run(valueNode, scope))
  }
  return map
}

/** After the check. @param meter the meter of the evaluation that runs */
export const finish = (root: Node, nullIsAbsent: boolean, meter: () => Meter): void => {
  const optionally = selectOptional(nullIsAbsent)
  for (const node of nodes(root)) {
    switch (node.op) {
      case '.':
      case '[]':
        node.evaluate = select
        break
      case '.?':
      case '[?]':
        node.evaluate = optionally
        break
      case '==':
        node.evaluate = (evaluator, at, scope) => isEqual(evaluator, at, scope, meter())
        break
      case '!=':
        node.evaluate = (evaluator, at, scope) => !isEqual(evaluator, at, scope, meter())
        break
      case 'in':
        node.evaluate = (evaluator, at, scope) => isIn(evaluator, at, scope, meter())
        break
      case 'map':
        if (!isEmpty(node)) node.evaluate = mapLiteral
    }
  }
}
