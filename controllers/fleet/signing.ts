/** Follows the keys that sign, the operator's own and those of devices: they are exchanged while operators run. FLEET-104, FLEET-125. */
import type { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import type { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { WakeSignal } from '#operator/model/wake-signal.ts'
import type { DeviceCache } from './cache/devices.ts'
import type { FleetState } from './state/fleet-state.ts'

const REREAD_INTERVAL = '5s'

export interface SigningOptions {
  /** Undefined where nothing is signed. */
  readonly signingKeys: FleetKeyFile | undefined
  readonly state: FleetState
  readonly devices: DeviceCache
  readonly wake: WakeSignal
  readonly clock: Clock
  readonly log: Logger
}

/** Until the signal aborts. */
export const followSigningKeys = async (
  { signingKeys: keys, state, devices, wake, clock, log }: SigningOptions,
  signal: AbortSignal,
): Promise<void> => {
  if (keys === undefined) return
  const tell = (problem: string) =>
    log.warn('fleet: the keys that sign entries can’t be read, those that were read last go on', { problem })
  while (!signal.aborted) {
    if (await keys.reread(tell)) {
      state.useSigningKeys(keys.keys)
      log.info('fleet: the keys that sign entries are others, every entry is signed by them', {
        keys: state.signer.ids,
      })
      devices.markAllChanged()
      wake.wake()
    }
    await clock.sleep(REREAD_INTERVAL, signal)
  }
}

interface DeviceKeyOptions extends Pick<SigningOptions, 'devices' | 'wake' | 'clock' | 'log'> {
  /** Undefined where devices need sign nothing. */
  readonly deviceKeys: DeviceKeyFolder | undefined
}

/** Until the signal aborts. */
export const followDeviceKeys = async (
  { deviceKeys: keys, devices, wake, clock, log }: DeviceKeyOptions,
  signal: AbortSignal,
): Promise<void> => {
  if (keys === undefined) return
  const tell = (problem: string) =>
    log.warn('fleet: the public keys of devices can’t be read, those that were read last go on', { problem })
  while (!signal.aborted) {
    const changed = await keys.reread(tell)
    if (changed.length > 0) {
      devices.keysChanged(changed)
      wake.wake()
    }
    await clock.sleep(REREAD_INTERVAL, signal)
  }
}
