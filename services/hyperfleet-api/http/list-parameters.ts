import { type Selector, SelectorError } from '#operator/model/selector.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { Problem } from '../problems/problem.ts'
import { COLUMNS, type SearchColumn } from '../search/search-tree.ts'
import type { Filter } from '../storage/compile-filter.ts'
import type { Order, Page } from '../storage/list.ts'

/** More requirements than any client writes; keeps the database's planning bounded. */
const MAX_REQUIREMENTS = 100

/** A `labels` parameter. @throws Problem badRequest */
export const readSelector = (text = ''): Selector => {
  try {
    const selector = parseSelector(text)
    if (selector.length > MAX_REQUIREMENTS)
      throw new SelectorError(`has ${selector.length} requirements; write at most ${MAX_REQUIREMENTS}`)
    return selector
  } catch (error) {
    if (error instanceof SelectorError)
      throw new Problem('badRequest', `labels: ${error.message}`, [{ field: 'labels', message: error.message }])
    throw error
  }
}

/**
 * Which page is asked for: by number, or after an id in the order of ids.
 * @throws Problem badRequest when it is both
 */
export const readPageStart = (
  { page, after, order }: { readonly page?: number; readonly after?: string; readonly order?: string | string[] },
  size: number,
): Page['from'] => {
  if (after === undefined) return { offset: ((page ?? 1) - 1) * size }
  const other = page !== undefined ? 'page' : order !== undefined ? 'order' : undefined
  if (other !== undefined)
    throw new Problem('badRequest', `after goes along the ids: leave out ${other}, or leave out after`, [
      { field: other, message: 'can’t be combined with after' },
    ])
  return { after }
}

const DEFAULT_ORDER: readonly Order[] = [{ column: 'created_time', direction: 'desc' }]
const ORDER_TERM = /^([a-z_][a-z0-9_]*)(?:\s+(asc|desc))?$/

/** An `order` parameter, repeated or a comma list. @throws Problem badRequest */
export const readOrder = (text: string | readonly string[] = []): readonly Order[] => {
  const terms = [text].flat().flatMap((list) => list.split(','))
  const orders = terms.map((term) => term.trim()).filter((term) => term !== '')
  return orders.length === 0 ? DEFAULT_ORDER : orders.map(readOrderTerm)
}

const readOrderTerm = (term: string): Order => {
  const [, column = '', direction = 'asc'] = ORDER_TERM.exec(term) ?? []
  if (!Object.hasOwn(COLUMNS, column))
    throw new Problem(
      'badRequest',
      `order: can't order by '${term}'; write one of ${Object.keys(COLUMNS).join(', ')}, with asc or desc`,
      [{ field: 'order', message: 'invalid field in search or order query' }],
    )
  return { column: column as SearchColumn, direction: direction as 'asc' | 'desc' }
}

/** `ref_type` and `ref_target_id`, which belong together. @throws Problem badRequest */
export const readReference = ({
  ref_type: type,
  ref_target_id: targetId,
}: {
  readonly ref_type?: string
  readonly ref_target_id?: string
}): Pick<Filter, 'reference'> => {
  if (type !== undefined && targetId !== undefined) return { reference: { type, targetId } }
  if (type === undefined && targetId === undefined) return {}
  const missing = type === undefined ? 'ref_type' : 'ref_target_id'
  throw new Problem('badRequest', `ref_type and ref_target_id belong together: give ${missing} too`, [
    { field: missing, message: 'is missing' },
  ])
}
