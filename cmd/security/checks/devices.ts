/** What devices say of the entries that they take. */
import { findCondition } from '#operator/model/conditions.ts'
import { LINES } from '../lines.ts'
import { defineCheck } from '../model.ts'

/** So many are named. */
const MAX_NAMED = 5

/** Devices take only what the fleet operator has signed, as far as their agents say so. SECURITY-12. */
export const deviceEntriesCheck = defineCheck('device-entries', ['Device'], (objects) => {
  const open = objects.Device.filter(
    ({ status }) => findCondition(status?.conditions, 'EntriesVerified')?.reason === 'NoPublicKeys',
  )
    .map(({ metadata }) => metadata.name)
    .toSorted()
  if (open.length === 0) return []
  const more = open.length > MAX_NAMED ? ` and ${open.length - MAX_NAMED} more` : ''
  return [
    {
      line: LINES.entries,
      where: `Device ${open.slice(0, MAX_NAMED).join(', ')}${more}`,
      what: 'the agent has no public keys of the fleet, and so takes entries without a signature',
      todo: 'give it those of the ConfigMap fleet-signing: muster agent enroll --fleet-public-keys=FILE on the device, or kustomize/clusterdevices where it is a cluster',
    },
  ]
})
