/** Objects that several adapters apply, each as a field manager of its own. ADAPTER-88. */
import type { ApiError } from '#operator/client/errors.ts'
import { ADAPTER_LABEL } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'

const MANAGER_PREFIX = 'muster-adapter-'

/** Of server-side apply, for what an adapter applies. */
export const fieldManagerOf = (adapter: string): string => `${MANAGER_PREFIX}${adapter}`

/** A conflict of server-side apply: another adapter holds what says whose the object is. */
export const isHeldByAdapter = ({ details }: ApiError): boolean =>
  (details.causes ?? []).some(
    ({ message = '', field = '' }) => message.includes(`"${MANAGER_PREFIX}`) && field.includes(ADAPTER_LABEL),
  )

/** A conflict of server-side apply: another adapter holds one of the fields. */
export const isWithAdapter = ({ details }: ApiError): boolean =>
  (details.causes ?? []).some(({ message = '' }) => message.includes(`"${MANAGER_PREFIX}`))

/** The adapter has applied the object. */
export const isAppliedBy = (object: JsonObject, adapter: string): boolean =>
  managersOf(object).includes(fieldManagerOf(adapter))

/** Another adapter applies the object too, or did. */
export const isAppliedByOthers = (object: JsonObject, adapter: string): boolean =>
  managersOf(object).some((manager) => manager.startsWith(MANAGER_PREFIX) && manager !== fieldManagerOf(adapter))

/** Of server-side apply. */
const managersOf = (object: JsonObject): readonly string[] => {
  const { managedFields = [] } = (object.metadata ?? {}) as {
    readonly managedFields?: readonly { readonly manager?: string; readonly operation?: string }[]
  }
  return managedFields.flatMap(({ manager = '', operation }) => (operation === 'Apply' ? [manager] : []))
}
