/** Objects that several adapters apply, each as a field manager of its own. ADAPTER-88, ADAPTER-112. */
import { createHash } from 'node:crypto'
import type { ApiError } from '#operator/client/errors.ts'
import { isNamespaceName } from '#operator/model/namespace.ts'
import { ADAPTER_LABEL } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'

const MANAGER_PREFIX = 'muster-adapter-'

/** Kubernetes: at most 128 characters. */
const MAX_MANAGER_CHARS = 128

/** Of server-side apply, for what an adapter applies: two adapters of one name in two namespaces are told apart by it. */
export const fieldManagerOf = (namespace: string, adapter: string): string => {
  const readable = `${MANAGER_PREFIX}${namespace}/${adapter}`
  if (readable.length <= MAX_MANAGER_CHARS) return readable
  const hash = createHash('sha256').update(adapter).digest('hex').slice(0, 8)
  return `${readable.slice(0, MAX_MANAGER_CHARS - hash.length - 1)}-${hash}`
}

export type OwnManagers = readonly [current: string, former: string]

/** All under which an adapter of the namespace may have applied an object: releases before named no namespace. ADAPTER-114. */
export const ownManagers = (namespace: string, adapter: string): OwnManagers => [
  fieldManagerOf(namespace, adapter),
  `${MANAGER_PREFIX}${adapter}`,
]

/** Whose a field manager is. Undefined when it is none of ours, or names no namespace, or what can be none. ADAPTER-116. */
export const parseFieldManager = (
  manager: string,
): { readonly namespace: string; readonly adapter: string } | undefined => {
  const slash = manager.indexOf('/')
  if (!manager.startsWith(MANAGER_PREFIX) || slash < 0) return undefined
  const namespace = manager.slice(MANAGER_PREFIX.length, slash)
  return isNamespaceName(namespace) ? { namespace, adapter: manager.slice(slash + 1) } : undefined
}

/** A field that is not as the manifest has it, and the field manager that has applied it so. */
export interface AppliedField {
  readonly field: string
  readonly manager: string
}

/**
 * Of a conflict of server-side apply, what others have applied to the object itself. Kubernetes: a cause says `conflict with "<manager>"`, and
 * goes on where that one has written by an update, or to a subresource, as no adapter does. ADAPTER-116.
 */
export const conflictingFields = ({ details }: ApiError): readonly AppliedField[] =>
  (details.causes ?? []).flatMap(({ message = '', field = '' }) => {
    const manager = /^conflict with "([^"]+)"$/.exec(message)?.[1]
    return manager === undefined ? [] : [{ field, manager }]
  })

/** What says whose the object is. */
export const isOwnership = ({ field }: AppliedField): boolean => field.includes(ADAPTER_LABEL)

/** One of these has applied the object. */
export const isAppliedBy = (object: JsonObject, managers: readonly string[]): boolean =>
  managersOf(object).some((manager) => managers.includes(manager))

/** An adapter's, or one that looks so: any writer may choose its name. */
export const isAdapterManager = (manager: string): boolean => manager.startsWith(MANAGER_PREFIX)

/** Another adapter applies the object too, or did. @param own its own field managers */
export const isAppliedByOthers = (object: JsonObject, own: readonly string[]): boolean =>
  managersOf(object).some((manager) => isAdapterManager(manager) && !own.includes(manager))

interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
}

/** Of server-side apply to the object itself: no adapter applies a subresource, and more accounts may write one. ADAPTER-116. */
export const managersOf = (object: JsonObject): readonly string[] => {
  const { managedFields = [] } = (object.metadata ?? {}) as { readonly managedFields?: readonly ManagedFields[] }
  return managedFields.flatMap(({ manager = '', operation, subresource = '' }) =>
    operation === 'Apply' && subresource === '' ? [manager] : [],
  )
}
