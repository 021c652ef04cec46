import { expect, test } from 'vitest'
import { toJson } from '#lib/cel/index.ts'
import { compileTemplate } from '#lib/template/index.ts'
import {
  EXAMPLE_NAMES,
  EXAMPLE_TIME,
  EXAMPLE_VALUES,
  EXPRESSION_EXAMPLES,
  FAULT_EXAMPLES,
  TEMPLATE_EXAMPLES,
} from './examples.ts'
import { RESERVED_VARIABLES, taskExpressions } from './expressions.ts'

const now = () => EXAMPLE_TIME
const { compile } = taskExpressions(EXAMPLE_NAMES, now)
const names = [...EXAMPLE_NAMES, ...RESERVED_VARIABLES]

const evaluate = (text: string): unknown => toJson(compile(text).evaluate(EXAMPLE_VALUES))
const render = (text: string): string => compileTemplate(text, { names, now }).render(EXAMPLE_VALUES)

test.each(EXPRESSION_EXAMPLES)('the expression $text gives what the reference says', ({ text, gives }) => {
  expect(JSON.stringify(evaluate(text))).toBe(JSON.stringify(gives))
})

test.each(TEMPLATE_EXAMPLES)('the template $text gives what the reference says', ({ text, gives }) => {
  expect(render(text)).toBe(gives)
})

test.each(FAULT_EXAMPLES)('the $of $text is refused with the words of the reference', ({ of, text, gives }) => {
  expect(() => (of === 'expression' ? evaluate(text) : render(text))).toThrow(
    expect.objectContaining({ message: gives }),
  )
})
