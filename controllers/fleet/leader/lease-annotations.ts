/** What stands on the Lease beside its holder: what a person released, and what leaders have deleted. FLEET-5, RUNTIME-71. */

import type { Api } from '#operator/client/api.ts'
import { LeaseLostError } from '#operator/client/leader-elector.ts'
import { LEASES } from '#operator/client/lease-record.ts'
import { BRAKE_RECORD_ANNOTATION, FORMER_RELEASE_ANNOTATION, RELEASE_ANNOTATION } from '../state/unneeded-keys.ts'

export interface LeaseAnnotations {
  /** Reads what a person released; '' when nothing. */
  readRelease(): Promise<string>
  /** What the leader before this one stored; undefined when none did. */
  readBrakeRecord(): Promise<string | undefined>
  /** '' removes it. @throws ApiError when the Lease was written meanwhile, as by another leader */
  storeBrakeRecord(record: string): Promise<void>
}

export const leaseAnnotations = (
  api: Api,
  { name, namespace }: { readonly name: string; readonly namespace: string },
): LeaseAnnotations => {
  const read = async () => (await api.get(LEASES, name, namespace))?.metadata.annotations ?? {}
  return {
    async readRelease() {
      const { [RELEASE_ANNOTATION]: released, [FORMER_RELEASE_ANNOTATION]: former } = await read()
      return [released, former].filter((value) => value !== undefined).join(',')
    },
    readBrakeRecord: async () => (await read())[BRAKE_RECORD_ANNOTATION],
    async storeBrakeRecord(record) {
      const found = await api.get(LEASES, name, namespace)
      if (found === undefined) throw new LeaseLostError(name, 'it was deleted')
      const { [BRAKE_RECORD_ANNOTATION]: _, ...others } = found.metadata.annotations ?? {}
      const annotations = { ...others, ...(record !== '' && { [BRAKE_RECORD_ANNOTATION]: record }) }
      await api.replace(LEASES, { ...found, metadata: { ...found.metadata, annotations } })
    },
  }
}
