import type { SourceHeader } from './source-record.ts'

/** Records in an order in which each comes after those that it names (API-131). */
export interface RecordOrder {
  readonly ordered: readonly SourceHeader[]
  /** Records that name each other in a circle, and those that name one of these. */
  readonly circular: readonly SourceHeader[]
}

/** What is named and is no record is not waited for. */
export const orderRecords = (headers: readonly SourceHeader[]): RecordOrder => {
  const byId = new Map(headers.map((header) => [header.id, header]))
  const waits = new Map<string, number>()
  const followers = new Map<string, SourceHeader[]>()
  const ordered: SourceHeader[] = []
  for (const header of headers) {
    const named = [...new Set(header.after)].filter((id) => byId.has(id))
    waits.set(header.id, named.length)
    if (named.length === 0) ordered.push(header)
    for (const id of named) {
      const others = followers.get(id)
      if (others === undefined) followers.set(id, [header])
      else others.push(header)
    }
  }
  // It grows while it is gone through.
  for (const { id } of ordered) {
    for (const follower of followers.get(id) ?? []) {
      const left = (waits.get(follower.id) ?? 0) - 1
      waits.set(follower.id, left)
      if (left === 0) ordered.push(follower)
    }
  }
  return { ordered, circular: headers.filter(({ id }) => (waits.get(id) ?? 0) > 0) }
}
