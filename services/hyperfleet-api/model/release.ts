import { matches, SelectorError } from '#operator/model/selector.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { type AdapterStatus, type Resource, reportedStatus } from './resource.ts'

/**
 * An adapter whose task does not select a resource any more lets it go (API-49): once nothing that it made is left, it
 * reports Applied=False with this reason, Health=True, and in `data.selector` what its task selects. That holds as long as
 * the selector does not select the resource, so neither a change of labels nor a deletion needs another report.
 */
const NOT_SELECTED = 'NotSelected'

/** Has this adapter let the resource go? */
export const isReleased = ({ conditions, data }: AdapterStatus, { labels = {} }: Pick<Resource, 'labels'>): boolean => {
  const applied = conditions.find(({ type }) => type === 'Applied')
  if (applied?.status !== 'False' || applied.reason !== NOT_SELECTED) return false
  if (reportedStatus(conditions, 'Health') !== 'True' || typeof data.selector !== 'string') return false
  try {
    return !matches(parseSelector(data.selector), labels)
  } catch (error) {
    if (error instanceof SelectorError) return false
    throw error
  }
}

/** The adapters that have let the resource go. */
export const releasedAdapters = (
  rows: readonly AdapterStatus[],
  resource: Pick<Resource, 'labels'>,
): ReadonlySet<string> => new Set(rows.filter((row) => isReleased(row, resource)).map(({ adapter }) => adapter))
