import { nearest } from '#lib/text/nearest.ts'
import { Problem } from '../problems/problem.ts'
import { COLUMNS, type ConditionPart, type Operand, type SearchColumn } from './search-tree.ts'
import { QUOTED, unquote } from './tokenize.ts'

/** What the values of an operand are. `status` is one of the words True, False and Unknown; `open` is any JSON scalar. */
export type OperandType = 'text' | 'integer' | 'time' | 'status' | 'open'

const CONDITION = /^status\.conditions\.([A-Z][A-Za-z0-9]*)(?:\.([a-z_]+))?$/
const PARTS = {
  status: 'status',
  last_updated_time: 'time',
  last_transition_time: 'time',
  observed_generation: 'integer',
} as const satisfies Record<ConditionPart, OperandType>
/** Deeper than any client asks; bounds the expression that a path becomes. */
const MAX_SPEC_DEPTH = 16
/** One step below `labels` or `spec`: bare, or quoted in brackets. */
const STEP = new RegExp(`\\.([A-Za-z0-9_./-]+)|\\[(${QUOTED})\\]`, 'gy')
/** SQLite's JSON paths have no way to write quotes, backslashes and control characters in a key. */
const UNSEARCHABLE = /["\\\p{Cc}]/u

/** What a name in a search stands for. @throws Problem badRequest that says what to write */
export const parseOperand = (name: string): Operand => {
  if (/^labels[.[]/.test(name)) return parseLabel(name)
  if (/^spec[.[]/.test(name)) return parseSpecPath(name)
  if (Object.hasOwn(COLUMNS, name)) return { type: 'column', column: name as SearchColumn }
  const match = CONDITION.exec(name)
  if (match === null) throw unknownOperand(name)
  const [, condition = '', part = 'status'] = match
  // `created_time` of a condition is the resource's own business and not stored for searching.
  if (!Object.hasOwn(PARTS, part) || name.endsWith('.status'))
    throw new Problem(
      'badRequest',
      `search: ${name} is none of status.conditions.${condition}, or its last_updated_time, last_transition_time, observed_generation`,
    )
  return { type: 'condition', condition, part: part as ConditionPart }
}

/** What values an operand takes. */
export const typeOf = (operand: Operand): OperandType => {
  switch (operand.type) {
    case 'column':
      return COLUMNS[operand.column]
    case 'label':
      return 'text'
    case 'spec':
      return 'open'
    case 'condition':
      return PARTS[operand.part]
  }
}

const parseLabel = (name: string): Operand => {
  const [step, ...more] = splitSteps(name)
  if (step === undefined || step.text === '' || more.length > 0)
    throw new Problem('badRequest', `search: ${name} is no label; write labels.<key> or labels['<key>']`)
  return { type: 'label', key: step.text }
}

const parseSpecPath = (name: string): Operand => {
  const path = splitSteps(name).flatMap(({ text, isQuoted }) => (isQuoted ? [text] : text.split('.')))
  if (path.length > MAX_SPEC_DEPTH)
    throw new Problem('badRequest', `search: ${name.slice(0, 40)}… has more than ${MAX_SPEC_DEPTH} keys`)
  if (path.some((key) => key === '' || UNSEARCHABLE.test(key)))
    throw new Problem(
      'badRequest',
      `search: ${name} has a key that can't be searched; write spec.<key>.<key> or spec['<key>'], without " and \\ in keys`,
    )
  return { type: 'spec', path }
}

const splitSteps = (name: string): { readonly text: string; readonly isQuoted: boolean }[] =>
  [...name.replace(/^\w+/, '').matchAll(STEP)].map(([, bare, quoted = '']) => ({
    text: bare ?? unquote(quoted),
    isQuoted: bare === undefined,
  }))

const unknownOperand = (name: string): Problem => {
  const columns = Object.keys(COLUMNS)
  const instead =
    nearest(name, columns) ?? `labels.<key>, spec.<key>, status.conditions.<Type> or one of ${columns.join(', ')}`
  return new Problem('badRequest', `search: ${name} can't be searched; write ${instead}`)
}
