/** What a deletion still waits for, object by object: `data.remaining` of the standard report, which the API's explain shows. ADAPTER-85. */
import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { JsonObject } from '../../task/task.ts'
import type { Lookup } from '../../transports/transport.ts'
import { kindOf, metadataOf } from './object.ts'

/** An object of an HTTP service has its URL as a name. */
export type LeftObject = JsonObject & { readonly kind: string; readonly name: string }

/** Objects of a report; the trace and the inventory have the rest. */
export const MAX_LEFT_OBJECTS = 50
/** Finalizers of an object. */
const MAX_FINALIZERS = 10

/** A unit of a deletion, as far as its objects go. */
interface LookedAt {
  readonly found: readonly { readonly object: JsonObject; readonly lookup: Lookup }[]
  readonly entries: readonly InventoryObject[]
  /** Why it can't be looked at. */
  readonly failure: unknown
}

/** What was found of the units; of one that can't be looked at, what the inventory has. */
export const listLeft = (units: readonly LookedAt[]): readonly LeftObject[] =>
  units.flatMap(({ found, entries, failure }) =>
    found.length === 0 && failure !== undefined ? listEntriesLeft(entries) : found.map(toLeft),
  )

export const listEntriesLeft = (entries: Iterable<InventoryObject>): readonly LeftObject[] =>
  [...entries].map(({ url, kind = '', namespace, name = '' }) =>
    url === undefined ? { kind, ...(namespace !== undefined && { namespace }), name } : { kind: 'HTTP', name: url },
  )

const toLeft = ({ object, lookup }: LookedAt['found'][number]): LeftObject => {
  if (lookup.transport.kind === 'http') return { kind: 'HTTP', name: lookup.transport.url }
  const { namespace, name = '', finalizers = [] } = metadataOf(object)
  return {
    kind: kindOf(object),
    ...(namespace !== undefined && { namespace }),
    name,
    ...(finalizers.length > 0 && { finalizers: finalizers.slice(0, MAX_FINALIZERS) }),
  }
}
