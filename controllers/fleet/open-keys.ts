import { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import { FleetKeyError, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import type { FleetOptions } from './options.ts'

/**
 * The keys that the operator's flags name, kept as their files are.
 * @param signing a file of private keys @param devices a folder of devices' public keys
 * @throws FleetKeyError that names the flag
 */
export const openKeys = async (
  signing: string | undefined,
  devices: string | undefined,
): Promise<Pick<FleetOptions, 'signingKeys' | 'deviceKeys'>> => ({
  signingKeys:
    signing === undefined
      ? undefined
      : await FleetKeyFile.open(signing, readSigningKeys).catch(nameFlag('--fleet-signing-keys')),
  deviceKeys:
    devices === undefined ? undefined : await DeviceKeyFolder.open(devices).catch(nameFlag('--fleet-device-keys')),
})

const nameFlag = (flag: string) => (error: unknown) => {
  if (!(error instanceof FleetKeyError)) throw error
  throw new FleetKeyError(`${flag}: ${error.message}`, { cause: error })
}
