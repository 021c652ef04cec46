import type { Operand, Search, Test, Value } from '#services/hyperfleet-api/search/search-tree.ts'

/** A search tree as text that parses to the same tree. */
export const printSearch = (search: Search): string => {
  switch (search.type) {
    case 'and':
    case 'or':
      return search.operands.map((operand) => `(${printSearch(operand)})`).join(` ${search.type} `)
    case 'not':
      return `not (${printSearch(search.operand)})`
    case 'missing':
      return `${printOperand(search.operand)} is null`
    case 'test':
      return `${printOperand(search.operand)} ${printTest(search.test)}`
  }
}

const printOperand = (operand: Operand): string => {
  switch (operand.type) {
    case 'column':
      return operand.column
    case 'label':
      return `labels[${quoted(operand.key)}]`
    case 'spec':
      return `spec${operand.path.map((key) => `[${quoted(key)}]`).join('')}`
    case 'condition':
      return `status.conditions.${operand.condition}${operand.part === 'status' ? '' : `.${operand.part}`}`
  }
}

const printTest = (test: Test): string => {
  switch (test.operator) {
    case 'in':
      return `in [${test.values.map(printValue).join(', ')}]`
    case 'between':
      return `between ${printValue(test.low)} and ${printValue(test.high)}`
    case 'like':
    case 'ilike':
      return `${test.operator} ${quoted(test.pattern)}`
    default:
      return `${test.operator} ${printValue(test.value)}`
  }
}

const printValue = (value: Value): string => (typeof value === 'number' ? String(value) : quoted(value))

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
