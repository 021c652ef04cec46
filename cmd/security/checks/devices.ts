/** What devices say of the entries that they take. */
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { LINES } from '../lines.ts'
import { defineCheck } from '../model.ts'

/** So many are named. */
const MAX_NAMED = 5

const conditionOf = ({ status }: Device, type: string) => findCondition(status?.conditions, type)

/** The first of them, and how many more there are; undefined when there are none. */
const named = (devices: readonly Device[]): string | undefined => {
  const names = devices.map(({ metadata }) => metadata.name).toSorted()
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  return names.length === 0 ? undefined : `Device ${names.slice(0, MAX_NAMED).join(', ')}${more}`
}

/** By the reasons of their condition. */
const OPEN_DEVICES = {
  NoPublicKeys: 'the agent has no public keys of the fleet, and so takes entries without a signature',
  OtherKeys: 'the agent also takes what another key has signed, such as a former one, which may be in wrong hands',
} as const

/** Devices take only what the fleet operator has signed, as far as their agents say so. SECURITY-12, SECURITY-31. */
export const deviceEntriesCheck = defineCheck('device-entries', ['Device'], (objects) => {
  const todo =
    'give it those of the ConfigMap fleet-signing: muster agent enroll --fleet-public-keys=FILE on the device, or kustomize/clusterdevices where it is a cluster'
  return Object.entries(OPEN_DEVICES).flatMap(([reason, what]) => {
    const where = named(objects.Device.filter((device) => conditionOf(device, 'EntriesVerified')?.reason === reason))
    return where === undefined ? [] : [{ line: LINES.entries, where, what, todo }]
  })
})

/** Devices sign what they say, and nothing else stands in their place. SECURITY-26. */
export const deviceInfosCheck = defineCheck('device-infos', ['Device'], (objects) => {
  const unverified = objects.Device.filter((device) => conditionOf(device, 'InfoVerified')?.status === 'False')
  const isUnsigned = (device: Device) => conditionOf(device, 'InfoVerified')?.reason === 'NotSigned'
  const [unsigned, forged] = [named(unverified.filter(isUnsigned)), named(unverified.filter((one) => !isUnsigned(one)))]
  const line = LINES.entries
  return [
    ...(forged === undefined
      ? []
      : [
          {
            line,
            where: forged,
            what: 'what stands in fleet-info is not what its agent signed: the condition InfoVerified says why',
            todo: 'do what the condition says; if it is none of that, look for a key of NATS in wrong hands',
          },
        ]),
    ...(unsigned === undefined
      ? []
      : [
          {
            line,
            where: unsigned,
            what: 'the agent signs nothing of what it says, so what opens NATS says what the device is',
            todo: 'update the agent, and give it its key by --nats-credentials',
          },
        ]),
  ]
})
