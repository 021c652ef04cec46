import { parseAst } from 'vitest/node'

/** One operator of a source text replaced by another one. */
export interface Mutant {
  /** From 1. */
  readonly line: number
  /** Where the replaced text begins and ends in the source. */
  readonly start: number
  readonly end: number
  readonly from: string
  readonly to: string
}

/** What each operator becomes: its boundary or its opposite, whichever a test notices less easily. */
const OPERATORS: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

/** Types don't run, and names of modules decide nothing. */
const isRun = ({ type }: Node): boolean => !type.startsWith('TS') && type !== 'ImportDeclaration'

const nodesOf = (node: Node): readonly Node[] =>
  isRun(node) ? [node, ...Object.values(node).flat().filter(isNode).flatMap(nodesOf)] : []

/** Every mutant of a TypeScript source: operators of two sides, `!`, `true` and `false`. */
export const mutantsOf = (source: string): readonly Mutant[] => {
  const program = parseAst(source, { lang: 'ts' }) as unknown as Node
  const mutant = (start: number, from: string, to: string): Mutant => ({
    line: source.slice(0, start).split('\n').length,
    start,
    end: start + from.length,
    from,
    to,
  })
  return nodesOf(program).flatMap((node): readonly Mutant[] => {
    if (node.type === 'BinaryExpression' || node.type === 'LogicalExpression') {
      const from = String(node.operator)
      const to = OPERATORS[from]
      // A text has no opposite.
      if (to === undefined || (from === '+' && isText(node))) return []
      const [left, right] = [node.left as Node, node.right as Node]
      return [mutant(source.indexOf(from, endOfSide(source, left, right)), from, to)]
    }
    if (node.type === 'UnaryExpression' && node.operator === '!') return [mutant(node.start, '!', '')]
    if (node.type === 'Literal' && typeof node.value === 'boolean')
      return [mutant(node.start, String(node.value), String(!node.value))]
    return []
  })
}

const isText = ({ left, right }: Node): boolean =>
  [left, right].some(
    (side) =>
      isNode(side) &&
      (side.type === 'TemplateLiteral' ||
        (side.type === 'Literal' && typeof side.value === 'string') ||
        (side.type === 'BinaryExpression' && isText(side))),
  )

/** Behind the left side and the brackets around it. */
const endOfSide = (source: string, left: Node, right: Node): number => {
  const closing = /^[\s)]*/.exec(source.slice(left.end, right.start))
  return left.end + (closing?.[0].length ?? 0)
}

/** The source with that one operator replaced. */
export const mutate = (source: string, { start, end, to }: Mutant): string =>
  source.slice(0, start) + to + source.slice(end)
