/** What is asked of the API, so that it sends no more than the shard: a help for the API, never trusted (SENTINEL-22). */
import { formatSelector, type Selector } from '#operator/model/selector.ts'

export interface Selection {
  /** For `labels=`: a Kubernetes selector, undefined for everything. */
  readonly labels: string | undefined
  /** For `search=`, where `labels=` is unknown: only requirements that this dialect can say exactly. */
  readonly search: readonly string[]
}

/** Identifiers of the search dialect: it has no hyphens. */
const SEARCHABLE_KEY = /^[a-z0-9_]+$/
const SEARCHABLE_VALUE = /^[-A-Za-z0-9_.]*$/

export const buildSelection = (selector: Selector): Selection => ({
  labels: formatSelector(selector) || undefined,
  search: formatSearch(selector),
})

/** The requirements that narrow a search; leaving one out only means that more is sent to us. */
const formatSearch = (selector: Selector): string[] =>
  selector.flatMap((requirement) => {
    if (requirement.operator !== 'In' || !SEARCHABLE_KEY.test(requirement.key)) return []
    const { key, values } = requirement
    if (!values.every((value) => SEARCHABLE_VALUE.test(value))) return []
    const quoted = values.map((value) => `'${value}'`).join(',')
    return [values.length === 1 ? `labels.${key}=${quoted}` : `labels.${key} in [${quoted}]`]
  })
