import type { Resource } from '#services/hyperfleet-api/model/resource.ts'
import type { Operand, Search, Test, Value } from '#services/hyperfleet-api/search/search-tree.ts'

/**
 * What a search means, said a second time and as plainly as possible: true, false, or undefined when it is about
 * something that the resource does not have.
 */
export const evaluate = (search: Search, resource: Resource): boolean | undefined => {
  switch (search.type) {
    case 'and':
    case 'or': {
      const decisive = search.type === 'or'
      const truths = search.operands.map((operand) => evaluate(operand, resource))
      if (truths.includes(decisive)) return decisive
      return truths.includes(undefined) ? undefined : !decisive
    }
    case 'not': {
      const truth = evaluate(search.operand, resource)
      return truth === undefined ? undefined : !truth
    }
    case 'missing':
      return readValue(search.operand, resource) == null
    case 'test':
      return holds(search.operand, readValue(search.operand, resource), search.test)
  }
}

const readValue = (operand: Operand, resource: Resource): unknown => {
  switch (operand.type) {
    case 'column':
      if (operand.column === 'owner_id') return resource.owner_references?.id
      if (operand.column === 'owner_kind') return resource.owner_references?.kind
      if (operand.column === 'tenancy') return JSON.stringify(resource.tenancy)
      return resource[operand.column]
    case 'label':
      return resource.labels?.[operand.key]
    case 'spec':
      return operand.path.reduce<unknown>(
        (value, key) =>
          typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, key)
            ? (value as Record<string, unknown>)[key]
            : undefined,
        resource.spec,
      )
    case 'condition':
      return resource.status.conditions.find(({ type }) => type === operand.condition)?.[operand.part]
  }
}

const holds = (operand: Operand, value: unknown, test: Test): boolean | undefined => {
  if (typeof value === 'object' || value === undefined) return undefined
  const isEquality = ['=', '!=', 'in'].includes(test.operator)
  const known = comparable(value as string | number | boolean, kindOf(test), operand.type === 'spec' && isEquality)
  if (known === undefined) return undefined
  switch (test.operator) {
    case 'in':
      return test.values.includes(known)
    case 'between':
      return compare(known, test.low) >= 0 && compare(known, test.high) <= 0
    case 'like':
      return patternOf(test.pattern, 'su').test(String(known))
    case 'ilike':
      return patternOf(lower(test.pattern), 'su').test(lower(String(known)))
    case '=':
      return known === test.value
    case '!=':
      return known !== test.value
    case '<':
      return compare(known, test.value) < 0
    case '<=':
      return compare(known, test.value) <= 0
    case '>':
      return compare(known, test.value) > 0
    case '>=':
      return compare(known, test.value) >= 0
  }
}

const kindOf = (test: Test): 'string' | 'number' => {
  const value =
    'pattern' in test ? test.pattern : 'low' in test ? test.low : 'values' in test ? test.values[0] : test.value
  return typeof value === 'number' ? 'number' : 'string'
}

/** The value as the test sees it: below spec, `'3'` equals the number 3 and `'true'` the boolean. */
const comparable = (
  value: string | number | boolean,
  kind: 'string' | 'number',
  isLoose: boolean,
): Value | undefined => {
  if (typeof value === kind) return value as Value
  return isLoose && kind === 'string' ? String(value) : undefined
}

const compare = (a: Value, b: Value): number =>
  typeof a === 'number' && typeof b === 'number'
    ? a - b
    : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))

const lower = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

const patternOf = (pattern: string, flags: string): RegExp => {
  const body = pattern.replace(/\\([\s\S])|([\s\S])/gu, (_all, escaped?: string, bare?: string) =>
    bare === '%' ? '.*' : bare === '_' ? '.' : literal(escaped ?? bare ?? ''),
  )
  return new RegExp(`^${body}$`, flags)
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
