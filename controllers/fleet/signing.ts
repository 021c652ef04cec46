/** Follows the keys that sign, the operator's own and those of devices: they are exchanged while operators run. FLEET-104, FLEET-125. */
import type { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import type { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { WakeSignal } from '#operator/model/wake-signal.ts'
import type { DeviceCache } from './cache/devices.ts'
import type { FleetState } from './state/fleet-state.ts'

const REREAD_INTERVAL = '5s'

interface KeyOptions {
  /** Undefined where nothing is signed. */
  readonly signingKeys: FleetKeyFile | undefined
  /** Undefined where devices need sign nothing. */
  readonly deviceKeys: DeviceKeyFolder | undefined
  readonly state: FleetState
  readonly devices: DeviceCache
  readonly wake: WakeSignal
  readonly clock: Clock
  readonly log: Logger
}

/** Until the signal aborts. */
export const followKeys = async (options: KeyOptions, signal: AbortSignal): Promise<void> => {
  const { signingKeys, deviceKeys, devices, wake, clock } = options
  if (signingKeys === undefined && deviceKeys === undefined) return
  while (!signal.aborted) {
    const hasOwn = signingKeys !== undefined && (await rereadOwn(signingKeys, options))
    const changed = deviceKeys === undefined ? [] : await rereadDevices(deviceKeys, options)
    if (hasOwn) devices.markAllChanged()
    devices.keysChanged(changed)
    if (hasOwn || changed.length > 0) wake.wake()
    await clock.sleep(REREAD_INTERVAL, signal)
  }
}

const rereadOwn = async (keys: FleetKeyFile, { state, log }: KeyOptions): Promise<boolean> => {
  const hasOthers = await keys.reread((problem) =>
    log.warn('fleet: the keys that sign entries can’t be read, those that were read last go on', { problem }),
  )
  if (hasOthers) {
    state.useSigningKeys(keys.keys)
    log.info('fleet: the keys that sign entries are others, every entry is signed by them', { keys: state.signer.ids })
  }
  return hasOthers
}

const rereadDevices = (keys: DeviceKeyFolder, { log }: KeyOptions): Promise<readonly string[]> =>
  keys.reread((problem) =>
    log.warn('fleet: the public keys of devices can’t be read, those that were read last go on', { problem }),
  )
