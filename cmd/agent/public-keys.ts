import { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import { FleetKeyError, readPublicKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { UsageError } from '../failure.ts'

/** What entries must be signed by, as --fleet-public-keys names it; undefined without the flag. AGENT-48. @throws UsageError */
export const openPublicKeys = async (file: string | undefined): Promise<FleetKeyFile | undefined> => {
  if (file === undefined) return undefined
  try {
    return await FleetKeyFile.open(file, readPublicKeys)
  } catch (error) {
    if (!(error instanceof FleetKeyError)) throw error
    throw new UsageError(`--fleet-public-keys: ${error.message}`, { cause: error })
  }
}
