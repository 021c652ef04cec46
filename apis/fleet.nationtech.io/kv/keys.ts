/**
 * The keys of the buckets: DNS-1123 labels joined by dots.
 *
 *   fleet-desired, fleet-state     <device>.<namespace>.<deployment>
 *   fleet-info, fleet-heartbeat    <device>
 *
 * No token has a dot, so no two things share a key, and `<device>.>` is all that concerns a device.
 */
import { MalformedEntry } from './malformed.ts'

/** A Deployment on a device. */
export interface Placement {
  readonly device: string
  readonly namespace: string
  readonly deployment: string
}

/** Kubernetes: DNS-1123 label. */
const TOKEN = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

const token = (what: string, text: string): string => {
  if (TOKEN.test(text)) return text
  throw new MalformedEntry(
    'Key',
    `${JSON.stringify(text)} can't be the name of a ${what}: write at most 63 lower case letters, digits and inner hyphens`,
  )
}

export const isDeviceName = (text: string): boolean => TOKEN.test(text)

/** @throws MalformedEntry (Key) */
export const placementKey = ({ device, namespace, deployment }: Placement): string =>
  [token('device', device), token('namespace', namespace), token('deployment', deployment)].join('.')

/** @throws MalformedEntry (Key) */
export const parsePlacementKey = (key: string): Placement => {
  const [device, namespace, deployment, ...more] = key.split('.')
  if (device === undefined || namespace === undefined || deployment === undefined || more.length > 0)
    throw new MalformedEntry('Key', `the key ${JSON.stringify(key)} is not <device>.<namespace>.<deployment>`)
  return {
    device: token('device', device),
    namespace: token('namespace', namespace),
    deployment: token('deployment', deployment),
  }
}

/** @throws MalformedEntry (Key) */
export const deviceKey = (device: string): string => token('device', device)

/** @throws MalformedEntry (Key) */
export const parseDeviceKey = (key: string): string => token('device', key)

/** What an agent watches: everything that it is to run. @throws MalformedEntry (Key) */
export const keysOfDevice = (device: string): string => `${deviceKey(device)}.>`
