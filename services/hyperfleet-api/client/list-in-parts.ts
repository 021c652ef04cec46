import type { Query, ResourcePage } from './client.ts'
import { HyperFleetError } from './error.ts'

/** What HTTP says of a page whose records are too large together (API-173). */
const TOO_LARGE = 413

/**
 * A page as it was asked for. One that the API refuses for its bytes is asked for in smaller ones, which together are that page.
 * @param query with a `size`; without one a refusal stands
 * @throws HyperFleetError also where one record alone is too large
 */
export const listInParts = async (
  query: Query,
  list: (query: Query) => Promise<ResourcePage>,
): Promise<ResourcePage> => {
  try {
    return await list(query)
  } catch (error) {
    const size = Number(query.size)
    if (!(error instanceof HyperFleetError && error.status === TOO_LARGE && size > 1)) throw error
    return join(query, size, list)
  }
}

/** The same page in parts that it is a multiple of, so that they can be numbered; the smaller ones of them again in parts where they must. */
const join = async (
  query: Query,
  size: number,
  list: (query: Query) => Promise<ResourcePage>,
): Promise<ResourcePage> => {
  const smaller = size / smallestDivisor(size)
  const first = (Number(query.page ?? '1') - 1) * (size / smaller) + 1
  const items: unknown[] = []
  let after = query.after
  for (let part = 0; ; part += 1) {
    const place = query.after === undefined ? { page: String(first + part) } : { after }
    const page = await listInParts({ ...query, size: String(smaller), ...place }, list)
    items.push(...page.items)
    if (items.length >= size || page.items.length < smaller) return { ...page, items }
    const { id } = (page.items.at(-1) ?? {}) as { readonly id?: unknown }
    if (query.after !== undefined && typeof id !== 'string')
      throw new HyperFleetError(
        'APIMalformed',
        'the last item of a page has no id, so the next page can’t be asked for',
      )
    after = String(id)
  }
}

const smallestDivisor = (of: number): number => {
  for (let divisor = 2; divisor * divisor <= of; divisor += 1) if (of % divisor === 0) return divisor
  return of
}
