/**
 * Lists a resource type page by page, in whatever dialect the API speaks.
 *
 * Ours has keyset paging (`after=`), which no insert or delete can shift. HyperFleet APIs in the field have `search`,
 * which can say the same (`id > 'last'`). An API that ignores both is paged by number.
 */

import type { HyperFleetClient, Query, ResourcePage } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { Selection } from './selection.ts'

export const PAGE_SIZE = 100

/**
 * All that the Sentinel reads of a resource; specs can be large. Annotations are not among them: APIs that know `fields`
 * refuse one that they have not, and neither ours nor those in the field have annotations. One that ignores `fields` sends them.
 */
export const REQUESTED_FIELDS = [
  'id',
  'generation',
  'labels',
  'created_time',
  'updated_time',
  'deleted_time',
  'status.conditions.type',
  'status.conditions.status',
  'status.conditions.observed_generation',
  'status.conditions.last_updated_time',
].join(',')

/** What was learned of an API; one is kept as long as its client. */
export class Dialect {
  features: ReadonlySet<string> = new Set()
  /** False once the API refused or ignored `search`. */
  supportsSearch = true
  /** False once it refused `fields` or `order` too. */
  supportsFields = true
}

export interface Listing {
  readonly api: HyperFleetClient
  readonly dialect: Dialect
  readonly resourceType: string
  readonly selection: Selection
  /** More terms for `search`: only what matches all of them is wanted. */
  readonly where?: readonly string[]
}

/** Every page until the last; from the start again, and with items told twice, where the API turns out to know less. @throws HyperFleetError */
export async function* listPages(listing: Listing, signal: AbortSignal): AsyncGenerator<ResourcePage, void, undefined> {
  const { dialect } = listing
  let last = ''
  let seen = 0
  for (let number = 1; ; number++) {
    const page = await requestPage(listing, { last, number }, signal)
    if (page === undefined) {
      ;[last, seen, number] = ['', 0, 0]
      continue
    }
    dialect.features = page.features
    if (page.items.length === 0) return
    const lastOfPage = findLastId(page.items)
    if (number > 1 && lastOfPage === last) {
      // The API ignored where this page should begin. Number the pages instead; if it ignores numbers too, this is all.
      if (!hasKeyset(dialect)) return
      dialect.supportsSearch = false
      ;[last, seen, number] = ['', 0, 0]
      continue
    }
    yield page
    seen += page.items.length
    if (isLast(page, seen, dialect)) return
    last = lastOfPage
  }
}

interface PagePosition {
  /** The id after which the page begins; '' for the first page. */
  readonly last: string
  readonly number: number
}

/** A page; undefined when the API refused the question and will be asked a simpler one from now on. */
const requestPage = async (
  listing: Listing,
  place: PagePosition,
  signal: AbortSignal,
): Promise<ResourcePage | undefined> => {
  const { api, dialect, resourceType, where } = listing
  try {
    return await api.list(resourceType, buildQuery(listing, place), signal)
  } catch (error) {
    // A list with `where` can't be asked for in a simpler way.
    const canBeSimpler = where === undefined && (dialect.supportsSearch || dialect.supportsFields)
    if (!(error instanceof HyperFleetError && error.status === 400 && canBeSimpler)) throw error
    if (dialect.supportsSearch) dialect.supportsSearch = false
    else dialect.supportsFields = false
    return undefined
  }
}

const buildQuery = ({ dialect, selection, where = [] }: Listing, { last, number }: PagePosition): Query => {
  const base = { labels: selection.labels, size: String(PAGE_SIZE) }
  if (!dialect.supportsFields) return { ...base, page: String(number) }
  const ours = dialect.features.has('labels')
  const terms = [...(ours || !dialect.supportsSearch ? [] : selection.search), ...where]
  if (!ours && dialect.supportsSearch && last !== '') terms.push(`id > '${last}'`)
  return {
    ...base,
    fields: REQUESTED_FIELDS,
    ...(ours ? { after: last } : { order: 'id asc' }),
    ...(hasKeyset(dialect) ? {} : { page: String(number) }),
    search: terms.length === 0 ? undefined : terms.join(' and '),
  }
}

/** Whether pages begin after an id: then no resource is lost or doubled between two of them. */
export const hasKeyset = ({ features, supportsSearch }: Dialect): boolean => features.has('labels') || supportsSearch

/** An API may send smaller pages than asked for, so a short page is the last only where the API counts, or is ours. */
const isLast = ({ items, total }: ResourcePage, seen: number, dialect: Dialect): boolean => {
  if (dialect.features.has('labels')) return items.length < PAGE_SIZE
  if (total === undefined) return !dialect.supportsFields
  return dialect.supportsSearch ? items.length >= total : seen >= total
}

/** '' when no item of the page has an id. */
const findLastId = (items: ResourcePage['items']): string => {
  const last = items.findLast((item) => typeof idOf(item) === 'string')
  return last === undefined ? '' : String(idOf(last))
}

const idOf = (item: unknown): unknown => (item as { readonly id?: unknown } | null)?.id
