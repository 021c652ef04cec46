import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { Device as DEVICES } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Api, Desired } from '#operator/client/api.ts'
import { ApiError, isConflict } from '#operator/client/errors.ts'
import { withoutLabels } from '../status/device-status.ts'

/** Owns what the operator applies. */
export const FIELD_MANAGER = 'muster-fleet'

/** Applies what the agent reported, except labels that another field manager owns. @throws ApiError, NetworkError */
export const applyDevice = async (api: Api, desired: Desired<Device>): Promise<Device> => {
  try {
    return await api.apply(DEVICES, desired, { fieldManager: FIELD_MANAGER })
  } catch (error) {
    if (!(error instanceof ApiError) || !isConflict(error)) throw error
    const fields = (error.details.causes ?? []).flatMap(({ field }) => field ?? [])
    // It is another one by now: the watch tells.
    if (fields.length === 0) throw error
    // What is left, the inventory and our annotations, has no other owner.
    return api.apply(DEVICES, withoutLabels(desired, fields), { fieldManager: FIELD_MANAGER, force: true })
  }
}
