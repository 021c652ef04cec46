/** `matches` by RE2, as CEL defines it: its time is linear in the text, whatever the pattern. */
import { RE2JS } from 're2js'
import { type CelFunction, functionError } from './function.ts'

/** Longer patterns are programs. */
const LONGEST_PATTERN = 2_000

/** Compiled patterns that are kept: expressions repeat theirs. */
const KEPT = 200
const compiled = new Map<string, RE2JS>()

const pattern = (text: string): RE2JS => {
  const known = compiled.get(text)
  if (known !== undefined) return known
  if (text.length > LONGEST_PATTERN) {
    throw functionError('invalid_regular_expression', `a pattern is longer than ${LONGEST_PATTERN} characters`)
  }
  let fresh: RE2JS
  try {
    fresh = RE2JS.compile(text)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw functionError('invalid_regular_expression', `${JSON.stringify(text)} is no RE2 pattern: ${why}`)
  }
  if (compiled.size >= KEPT) compiled.clear()
  compiled.set(text, fresh)
  return fresh
}

/** Characters times instructions that are matched in about the time of one step. */
const WORK_A_STEP = 64

const cost = (text: string, expression: string): number =>
  (text.length * pattern(expression).programSize()) / WORK_A_STEP

const matches = (text: string, expression: string): boolean => pattern(expression).test(text)

export const regexFunctions: readonly CelFunction[] = [
  {
    signature: 'string.matches(string): bool',
    description: 'Whether an RE2 pattern is found in a text.',
    call: matches,
    cost,
  },
  {
    signature: 'matches(string, string): bool',
    description: 'The same, with the text as the first argument.',
    call: matches,
    cost,
  },
]
