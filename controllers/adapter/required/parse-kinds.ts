/** The answer of `GET /kinds`, checked: API-100. Pure. */
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { KindRequirement } from './compare-required.ts'

/** @throws HyperFleetError */
export const parseKinds = (answer: unknown): readonly KindRequirement[] => {
  const { items } = (answer ?? {}) as { readonly items?: unknown }
  if (!Array.isArray(items)) throw malformed('it holds no list "items"')
  return items.map(parseKind)
}

const parseKind = (item: unknown): KindRequirement => {
  const { kind, plural, required_adapters: requiredAdapters } = (item ?? {}) as Readonly<Record<string, unknown>>
  if (typeof kind !== 'string' || typeof plural !== 'string') throw malformed('a kind has no name')
  if (requiredAdapters === 'reporting' || requiredAdapters === 'undecided') return { kind, plural, requiredAdapters }
  if (!Array.isArray(requiredAdapters) || !requiredAdapters.every((name) => typeof name === 'string'))
    throw malformed(`required_adapters of ${kind} is no list of names`)
  return { kind, plural, requiredAdapters }
}

const malformed = (problem: string) => new HyperFleetError('APIMalformed', `the kinds can't be read: ${problem}`)
