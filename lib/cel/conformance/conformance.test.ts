import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { CelError, type Environment, environment } from '../index.ts'
import { Duration } from '../values.ts'
import { type Case, LEFT_OUT, sections } from './cases.ts'
import { KNOWN_FAILURES } from './known-failures.ts'

const known = new Set(Object.values(KNOWN_FAILURES).flat())

/** A duration keeps its value in private fields, which no comparison sees. */
const comparable = (value: unknown): unknown =>
  value instanceof Duration ? { duration: `${value.seconds} s ${value.nanos} ns` } : value

const environments = new Map<string, Environment>()

const environmentOf = (variables: Case['variables']): Environment => {
  const key = JSON.stringify(variables)
  const made = environments.get(key) ?? environment({ variables })
  environments.set(key, made)
  return made
}

const outcome = ({ expression, variables, values }: Case): { readonly value: unknown } | CelError => {
  try {
    return { value: environmentOf(variables).compile(expression).evaluate(values) }
  } catch (error) {
    if (error instanceof CelError) return error
    throw error
  }
}

const passes = (each: Case): boolean => {
  const found = outcome(each)
  if (each.expected === 'error' || found instanceof CelError)
    return each.expected === 'error' && found instanceof CelError
  return isDeepStrictEqual(comparable(found.value), comparable(each.expected.value))
}

describe('the cases of the cel-spec', () => {
  test.each([...sections()])('%s', (section, cases) => {
    const failing = cases.filter((each) => !passes(each)).map(({ id }) => `${section}/${id}`)
    expect(failing.sort()).toEqual([...known].filter((id) => id.startsWith(`${section}/`)).sort())
  })

  test('known failures name cases that exist', () => {
    const all = new Set([...sections()].flatMap(([section, cases]) => cases.map(({ id }) => `${section}/${id}`)))
    expect([...known].filter((id) => !all.has(id))).toEqual([])
  })

  test('most of them are run, and every section that is not says why', () => {
    const count = [...sections().values()].reduce((sum, cases) => sum + cases.length, 0)
    expect(count).toBeGreaterThan(1_300)
    expect(Object.values(LEFT_OUT).every((reason) => reason.length > 10)).toBe(true)
  })
})
