import { type Selector, SelectorError } from '#operator/model/selector.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { Problem } from '../problems/problem.ts'
import { ORDER_COLUMNS, type Order, type OrderColumn } from '../storage/resources.ts'

/** A `labels` parameter. @throws Problem badRequest */
export const readSelector = (text = ''): Selector => {
  try {
    return parseSelector(text)
  } catch (error) {
    if (error instanceof SelectorError)
      throw new Problem('badRequest', `labels: ${error.message}`, [{ field: 'labels', message: error.message }])
    throw error
  }
}

const NEWEST_FIRST: readonly Order[] = [{ column: 'created_time', direction: 'desc' }]
const TERM = /^([a-z_][a-z0-9_]*)(?:\s+(asc|desc))?$/

/** An `order` parameter, repeated or a comma list. @throws Problem badRequest */
export const readOrder = (text: string | readonly string[] = []): readonly Order[] => {
  const terms = [text].flat().flatMap((list) => list.split(','))
  const orders = terms.map((term) => term.trim()).filter((term) => term !== '')
  return orders.length === 0 ? NEWEST_FIRST : orders.map(readTerm)
}

const COLUMNS = new Set<string>(ORDER_COLUMNS)

const readTerm = (term: string): Order => {
  const [, column = '', direction = 'asc'] = TERM.exec(term) ?? []
  if (!COLUMNS.has(column))
    throw new Problem(
      'badRequest',
      `order: can't order by '${term}'; write one of ${ORDER_COLUMNS.join(', ')}, with asc or desc`,
    )
  return { column: column as OrderColumn, direction: direction as 'asc' | 'desc' }
}
