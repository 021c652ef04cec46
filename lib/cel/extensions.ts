/** What the library does not have and signatures alone can't add: `strings.x()`, `lists.x()`, `optMap`, `sortBy`, an order of bytes. */
import type { Environment } from '@marcbachmann/cel-js'
import { sorted } from './functions/lists.ts'
import { type Checker, type Evaluator, evaluationError, type Macro, type Node, type Scope } from './library.ts'
import { Optional } from './values.ts'

/** A receiver that is a name only. */
class Namespace {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

class StringsNamespace extends Namespace {}
class ListsNamespace extends Namespace {}

export const addNamespaces = (library: Environment): void => {
  for (const [name, Type] of [
    ['strings', StringsNamespace],
    ['lists', ListsNamespace],
  ] as const) {
    library.registerType(Type.name, { ctor: Type, fields: {} })
    library.registerConstant(name, Type.name, new Type(name))
  }
}

/** So that the check allows it; comparing is equality.ts. */
export const addEqualityOfOptionals = (library: Environment): void => {
  library.registerOperator('optional == optional', () => false)
}

export const addOrderOfBytes = (library: Environment): void => {
  const orders: Readonly<Record<string, (order: number) => boolean>> = {
    '<': (order) => order < 0,
    '<=': (order) => order <= 0,
    '>': (order) => order > 0,
    '>=': (order) => order >= 0,
  }
  for (const [operator, holds] of Object.entries(orders)) {
    library.registerOperator(`bytes ${operator} bytes`, (a: Uint8Array, b: Uint8Array) => holds(Buffer.compare(a, b)))
  }
}

/** What the library hands to a macro when it meets its call. */
interface MacroCall {
  readonly ast: Node
  readonly receiver: Node
  readonly args: readonly [Node, Node]
}

const requireName = (checker: Checker, variable: Node, problem: string): void => {
  if (variable.op !== 'id') throw checker.createError('invalid_macro_argument', problem, variable)
}

/** `a.?b.optMap(x, x + 1)` and `a.?b.optFlatMap(x, x.?c)`, the second for expressions that are optional themselves. */
const optionalMap =
  (flat: boolean) =>
  ({ ast, receiver, args: [variable, transform] }: MacroCall): Macro => {
    const name = flat ? 'optFlatMap' : 'optMap'
    let inner: Scope | undefined
    return {
      typeCheck(checker: Checker, _macro: Macro, scope: Scope) {
        requireName(checker, variable, `${name}() takes a name first: write a.${name}(x, x + 1)`)
        const type = checker.check(receiver, scope)
        if (type.kind !== 'optional' && type.kind !== 'dyn') {
          throw checker.createError(
            'optional_expected',
            `${name}() is for optionals, not for ${checker.formatType(type)}`,
            receiver,
          )
        }
        ast.setMeta('async', false)
        inner = scope.forkWithVariable(String(variable.args), checker.getType('dyn'))
        const result = checker.check(transform, inner)
        return flat ? checker.getType('optional') : checker.registry.getOptionalType(result)
      },
      evaluate(evaluator: Evaluator, _macro: Macro, scope: Scope) {
        const value = evaluator.run(receiver, scope)
        if (!(value instanceof Optional))
          throw evaluationError('optional_expected', `${name}() is for optionals`, receiver)
        if (!value.hasValue()) return value
        if (inner === undefined) throw new Error('a macro was evaluated before it was checked')
        const result = evaluator.run(transform, inner.reuse(scope).setIterValue(value.value(), evaluator))
        if (!flat) return Optional.of(result)
        if (result instanceof Optional) return result
        throw evaluationError('optional_expected', 'optFlatMap() takes an expression that gives an optional', transform)
      },
    }
  }

/** `list.sortBy(x, x.name)`: in ascending order of a key of each element. */
const sortBy = ({ ast, receiver, args: [variable, key] }: MacroCall): Macro => {
  let inner: Scope | undefined
  return {
    typeCheck(checker: Checker, _macro: Macro, scope: Scope) {
      requireName(checker, variable, 'sortBy() takes a name first: write a.sortBy(x, x.name)')
      const type = checker.check(receiver, scope)
      if (type.kind !== 'list' && type.kind !== 'dyn') {
        throw checker.createError(
          'invalid_comprehension_range',
          `sortBy() is for lists, not for ${checker.formatType(type)}`,
          receiver,
        )
      }
      ast.setMeta('async', false)
      inner = scope.forkWithVariable(String(variable.args), type.valueType ?? checker.getType('dyn'))
      checker.check(key, inner)
      return type.kind === 'list' ? type : checker.getType('list')
    },
    evaluate(evaluator: Evaluator, _macro: Macro, scope: Scope) {
      const list = evaluator.run(receiver, scope)
      if (!Array.isArray(list)) throw evaluationError('invalid_comprehension_range', 'sortBy() is for lists', receiver)
      if (inner === undefined) throw new Error('a macro was evaluated before it was checked')
      const own = inner.reuse(scope)
      return sorted(
        list.map((value: unknown) => ({ value, key: evaluator.run(key, own.setIterValue(value, evaluator)) })),
      )
    },
  }
}

export const addListMacros = (library: Environment): void => {
  library.registerFunction('list.sortBy(ast, ast): list', sortBy)
}

export const addOptionalMacros = (library: Environment): void => {
  library.registerFunction('optional.optMap(ast, ast): optional', optionalMap(false))
  library.registerFunction('optional.optFlatMap(ast, ast): optional', optionalMap(true))
}
