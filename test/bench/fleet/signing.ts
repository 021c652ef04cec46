import { findSigners, signEntry, verifyEntry } from '#apis/fleet.nationtech.io/kv/signature.ts'
import {
  newSigningKey,
  publicKeysOf,
  readPublicKeys,
  readSigningKeys,
} from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { deploymentOf, deviceOf, viewOf } from '#test/worlds/fleet/builders.ts'
import type { Bench } from '../definition.ts'
import { upTo } from '../in-parallel.ts'
import type { Figure } from '../report/row.ts'

const ENTRIES = 10_000

/** The operator compares each entry that it reads, also those that it wrote itself. */
export const fleetSigning: Bench = {
  name: 'fleet-signing',
  summary: `CPU of signed entries for devices, by one key, over ${ENTRIES.toLocaleString('en')} entries: what the fleet operator takes to sign one and to find that one is signed, and what a device takes to verify it.`,
  run: async ({ sized }) => {
    const signing = readSigningKeys(newSigningKey())
    const known = readPublicKeys(publicKeysOf(signing))
    const view = viewOf(deploymentOf('web'))
    const entries = [...upTo(sized(ENTRIES))].map((n) => {
      const device = deviceOf(`device-${n}`)
      const bytes = view.encodeDesired(view.target, device) ?? new Uint8Array()
      return { key: `${device.name}.shop.web`, bytes, header: '' }
    })
    const measure = (name: string, happen: (entry: (typeof entries)[number]) => void): Figure => {
      const began = process.cpuUsage()
      for (const entry of entries) happen(entry)
      const { user, system } = process.cpuUsage(began)
      return { name, unit: 'µs', value: (user + system) / entries.length }
    }
    return [
      measure('operator: sign an entry', (entry) => {
        entry.header = signEntry(signing, entry.key, entry.bytes)
      }),
      measure('operator: find that an entry is signed', ({ key, bytes, header }) => {
        if (findSigners(signing, key, bytes, header).length === 0) throw new Error(`${key} is not signed`)
      }),
      measure('device: verify an entry', ({ key, bytes, header }) => {
        if (verifyEntry(known, key, bytes, header).verdict !== 'Verified') throw new Error(`${key} is refused`)
      }),
    ]
  },
}
