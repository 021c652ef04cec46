import { HyperFleetError } from './error.ts'
import type { Query, ResourcePage } from './page.ts'

/** So often a page is read in parts before it is given up, because records came or went between them. */
const MAX_READINGS = 5

/** What HTTP says of a page whose records are too large together (API-173). */
const TOO_LARGE = 413

/**
 * A page as it was asked for. One that the API refuses for its bytes is asked for in smaller ones, which together are that page.
 * @param query with a `size`; without one a refusal stands
 * @throws HyperFleetError also where one record alone is too large
 */
export const listInParts = async (query: Query, list: List): Promise<ResourcePage> => {
  for (let reading = 1; reading <= MAX_READINGS; reading += 1) {
    const read = await readOnce(query, list)
    if (read !== undefined) return read
  }
  throw new HyperFleetError('APIUnreachable', `records came or went in each of ${MAX_READINGS} readings of a page`)
}

type List = (query: Query) => Promise<ResourcePage>

/** @returns undefined when records came or went between numbered parts: one that was there all the time may be missing, or twice (API-185) */
const readOnce = async (query: Query, list: List): Promise<ResourcePage | undefined> => {
  try {
    return await list(query)
  } catch (error) {
    const size = Number(query.size)
    if (!(error instanceof HyperFleetError && error.status === TOO_LARGE && size > 1)) throw error
    return join(query, size, list)
  }
}

/** The same page in parts that it is a multiple of, so that they can be numbered; the smaller ones of them again in parts where they must. */
const join = async (query: Query, size: number, list: List): Promise<ResourcePage | undefined> => {
  const smaller = size / smallestDivisor(size)
  const first = (Number(query.page ?? '1') - 1) * (size / smaller) + 1
  const isNumbered = query.after === undefined
  const items: unknown[] = []
  let after = query.after
  let total: number | undefined
  for (let part = 0; ; part += 1) {
    const place = isNumbered ? { page: String(first + part) } : { after }
    const page = await readOnce({ ...query, size: String(smaller), ...place }, list)
    if (page === undefined) return undefined
    items.push(...page.items)
    if (isNumbered && part > 0 && (page.total !== total || hasTwice(items))) return undefined
    total = page.total
    if (items.length >= size || page.items.length < smaller) return { ...page, items }
    const { id } = (page.items.at(-1) ?? {}) as { readonly id?: unknown }
    if (!isNumbered && typeof id !== 'string')
      throw new HyperFleetError(
        'APIMalformed',
        'the last item of a page has no id, so the next page can’t be asked for',
      )
    after = String(id)
  }
}

const hasTwice = (items: readonly unknown[]): boolean => {
  const ids = items.map((item) => (item as { readonly id?: unknown }).id).filter((id) => id !== undefined)
  return new Set(ids).size < ids.length
}

const smallestDivisor = (of: number): number => {
  for (let divisor = 2; divisor * divisor <= of; divisor += 1) if (of % divisor === 0) return divisor
  return of
}
