/** What is read once more before a key goes: FLEET-61. What leaders have deleted, as the Lease carries it from one to the next: RUNTIME-71. */
import { expect, test } from 'vitest'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { deploymentOf } from '#test/worlds/fleet/builders.ts'
import type { UnneededKey } from '../state/unneeded-keys.ts'
import { KeyCollector } from './key-collector.ts'

const NOON = Date.parse('2026-01-01T12:00:00Z')
const MINUTE = 60_000
const TOTAL = 100

const keys = (count: number, from: number): UnneededKey[] =>
  Array.from({ length: count }, (_, i) => ({
    key: `d${from + i}.shop.web`,
    placement: { device: `d${from + i}`, namespace: 'shop', deployment: 'web' },
    revision: 1,
    reason: 'NotMatched',
    isInherited: false,
  }))

/** One Lease and its leaders, before which nothing is needed of what `unneeded` says. */
const aFleet = () => {
  const fleet = {
    record: undefined as string | undefined,
    unneeded: [] as UnneededKey[],
    written: 0,
    /** What Kubernetes has of any name. */
    deployment: undefined as Deployment | undefined,
    device: undefined as Device | undefined,
    heard: new Set<string>(),
    /** What the store was asked for, and whether keys are as they were seen. */
    writes: [] as unknown[],
    isStale: false,
  }
  /** @param began real milliseconds @param skew of its time of day, in milliseconds */
  const lead = (began: number, skew: number) => {
    const collector = new KeyCollector({
      state: { unneededKeys: () => fleet.unneeded, keyCount: TOTAL, desiredSeen: () => {} } as never,
      api: { get: async (kind: unknown) => (kind === Deployment ? fleet.deployment : fleet.device) } as never,
      isHeard: (device) => fleet.heard.has(device),
      isDeletionUnexplained: () => false,
      lease: {
        readRelease: async () => '',
        readBrakeRecord: async () => fleet.record,
        storeBrakeRecord: async (record) => {
          fleet.record = record
          fleet.written += 1
        },
      },
    })
    const write = async (one: unknown) => {
      fleet.writes.push(one)
      return { outcome: fleet.isStale ? 'Stale' : 'Stored', seen: undefined }
    }
    const store = { write } as never
    /** @returns how many are deleted */
    return async (at: number) => {
      const { collected } = await collector.collect(store, new Date(at + skew), at - began)
      fleet.unneeded = fleet.unneeded.filter((one) => !collected.includes(one))
      return collected.length
    }
  }
  return { fleet, lead }
}

test.each([0, 11 * MINUTE, -11 * MINUTE])(
  'the next leader counts on from it, whose time of day is %i ms ahead, for ten minutes from its start',
  async (skew) => {
    const { fleet, lead } = aFleet()
    const first = lead(NOON, 0)
    fleet.unneeded = keys(15, 0)
    await first(NOON)
    expect(await first(NOON + 1_000)).toBe(15)

    const began = NOON + 2 * MINUTE
    const second = lead(began, skew)
    await second(began)
    fleet.unneeded = keys(6, 50)
    for (const at of [began + 1_000, began + 2_000]) expect(await second(at)).toBe(0)
    fleet.unneeded = []
    await second(began + 3_000)
    fleet.unneeded = keys(6, 60)
    for (const at of [9 * MINUTE, 9 * MINUTE + 1_000]) expect(await second(began + at)).toBe(0)
    fleet.unneeded = []
    await second(began + 10 * MINUTE)
    fleet.unneeded = keys(6, 70)
    await second(began + 10 * MINUTE + 1_000)
    expect(await second(began + 10 * MINUTE + 2_000)).toBe(6)
  },
)

test('it is read at the start, though nothing is due then, and taken off the Lease when nothing of it counts', async () => {
  const { fleet, lead } = aFleet()
  fleet.record = ';2026-01-01T11:59Z=15'
  const leader = lead(NOON, 0)
  for (let at = NOON; at < NOON + 10 * MINUTE; at += MINUTE) await leader(at)
  expect(fleet).toMatchObject({ record: ';2026-01-01T11:59Z=15', written: 0 })
  for (let at = NOON + 10 * MINUTE; at < NOON + 20 * MINUTE; at += MINUTE) await leader(at)
  expect(fleet).toMatchObject({ record: '', written: 1 })
  fleet.unneeded = keys(20, 0)
  await leader(NOON + 60 * MINUTE)
  expect(await leader(NOON + 60 * MINUTE + 1_000)).toBe(20)
})

const device = {
  metadata: { name: 'd0', uid: 'uid-of-d0', resourceVersion: '1', labels: { ring: 'all' } },
  spec: {},
} as unknown as Device

// FLEET-61
test.each([
  ['the Deployment is gone', undefined, device, 1],
  ['it selects the device', deploymentOf('web', { selector: { matchLabels: { ring: 'all' } } }), device, 0],
  ['it selects others', deploymentOf('web', { selector: { matchLabels: { ring: 'none' } } }), device, 1],
  ['the Device is gone', deploymentOf('web'), undefined, 1],
])(
  'a key that seems needed by nothing goes as Kubernetes itself says, which no watch has shown: %s',
  async (_, deployment, found, count) => {
    const { fleet, lead } = aFleet()
    const leader = lead(NOON, 0)
    Object.assign(fleet, { deployment, device: found, unneeded: keys(1, 0) })
    await leader(NOON)
    expect(await leader(NOON + 1_000)).toBe(count)
    expect(fleet.writes).toHaveLength(count)
  },
)

// FLEET-61
test('the key of a Device that is gone stays while its agent is heard; others of the device go', async () => {
  const { fleet, lead } = aFleet()
  const leader = lead(NOON, 0)
  fleet.unneeded = keys(1, 0).flatMap((one): UnneededKey[] => [
    { ...one, reason: 'DeviceGone' },
    { ...one, key: 'd0.shop.other', reason: 'DeploymentGone' },
  ])
  fleet.heard.add('d0')
  await leader(NOON)
  expect(await leader(NOON + 1_000)).toBe(1)
  expect(fleet.writes).toEqual([{ kind: 'Delete', key: 'd0.shop.other', revision: 1 }])
  fleet.heard.clear()
  expect(await leader(NOON + 2_000)).toBe(1)
  expect(fleet.unneeded).toEqual([])
})

// FLEET-61
test('a key is deleted as it was seen, and one that was written since neither goes nor counts', async () => {
  const { fleet, lead } = aFleet()
  const leader = lead(NOON, 0)
  fleet.unneeded = keys(15, 0).map((one) => ({ ...one, revision: 7 }))
  fleet.isStale = true
  await leader(NOON)
  expect(await leader(NOON + 1_000)).toBe(0)
  expect(fleet.writes[0]).toEqual({ kind: 'Delete', key: 'd0.shop.web', revision: 7 })
  fleet.isStale = false
  fleet.unneeded = keys(20, 50)
  await leader(NOON + 2_000)
  expect(await leader(NOON + 3_000)).toBe(20)
})
