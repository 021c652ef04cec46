/** In whose name a caller may act (API-80): names of adapters and consumer groups, or how they begin, with a `*` at the end. */
export interface BoundNames {
  readonly adapters: readonly string[]
  readonly consumers: readonly string[]
}

/** The adapter or consumer group that a request acts for. */
export interface ActingName {
  readonly kind: 'adapter' | 'consumer'
  readonly name: string
}

/** May a caller with these names act for that one? */
export const isBoundTo = ({ adapters, consumers }: BoundNames, { kind, name }: ActingName): boolean =>
  (kind === 'adapter' ? adapters : consumers).some((bound) =>
    bound.endsWith('*') ? name.startsWith(bound.slice(0, -1)) : name === bound,
  )
