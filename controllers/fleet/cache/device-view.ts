import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { WindowError } from '../rollout/maintenance-windows.ts'
import { type DeviceView, deviceView } from '../state/views.ts'

/** A Device may name windows that can't be read: then none ever opens. */
export const viewOfDevice = (device: Device, now: Date): DeviceView => {
  try {
    return deviceView(device, now)
  } catch (error) {
    if (!(error instanceof WindowError)) throw error
    const { windows: _, ...spec } = device.spec
    return { ...deviceView({ ...device, spec }, now), opens: 'never' }
  }
}
