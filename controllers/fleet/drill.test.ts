/** What the drill says of keys that stay as they are: FLEET-66, FLEET-94. */
import { expect, test } from 'vitest'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { systemClock } from '#operator/model/clock.ts'
import { CREATED, deploymentOf, deviceOf, viewOf } from '#test/worlds/fleet/builders.ts'
import { drillFleet, type FleetSnapshot, formatDrill, isOpen } from './drill.ts'
import { buildControllerRevision } from './rollout/controllerrevision.ts'
import { findOrBuildRevision } from './rollout/revisions.ts'

const aDevice = (name: string, pinned = false): Device => ({
  apiVersion: 'fleet.nationtech.io/v1alpha1',
  kind: 'Device',
  metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: CREATED },
  spec: { pinned },
})

const storedOf = ({ metadata, spec }: Deployment, revision = 1) => {
  const built = findOrBuildRevision([], { generation: 1, score: spec.score }, undefined).revision
  return buildControllerRevision(metadata, { ...built, revision })
}

/** What an operator of the Deployment gave the device. */
const keyOf = (deployment: Deployment, device: string) => {
  const view = viewOf(deployment)
  const bytes = view.encodeDesired(view.target, deviceOf(device)) ?? new Uint8Array()
  return { key: `${device}.shop.${deployment.metadata.name}`, bytes, revision: 1 }
}

const drilled = (fleet: Partial<FleetSnapshot>) => {
  const result = drillFleet(
    { deployments: [], revisions: [], devices: [], desired: [], states: [], ...fleet },
    systemClock,
  )
  return { ...result, isOpen: isOpen(result), text: formatDrill(result) }
}

const nothing = {
  revisions: [],
  puts: [],
  deletes: [],
  held: undefined,
  conflicts: [],
  waiting: [],
  later: [],
  problems: [],
}
const web = deploymentOf('web')

test('a device that has what is rolled out is neither, pinned or not', () => {
  const fleet = { deployments: [web], revisions: [storedOf(web)], devices: [aDevice('a', true)] }
  expect(drilled({ ...fleet, desired: [keyOf(web, 'a')] })).toMatchObject({ ...nothing, isOpen: false })
})

test('FLEET-66: a key that is missing would be written, which alone closes the gate', () => {
  const found = drilled({ deployments: [web], revisions: [storedOf(web)], devices: [aDevice('a')] })
  expect(found).toMatchObject({ ...nothing, puts: ['a.shop.web'], isOpen: true })
})

test('FLEET-94: another workload under the number of a revision is a conflict', () => {
  const other = deploymentOf('web', { command: 'other' })
  const fleet = { deployments: [web], revisions: [storedOf(web)], devices: [aDevice('a')] }
  const conflicts = [{ key: 'a.shop.web', reason: 'ConflictPaused' }]
  const found = drilled({ ...fleet, desired: [keyOf(other, 'a')] })
  expect(found).toMatchObject({ ...nothing, conflicts, isOpen: true })
  expect(found.text).toMatch(/^conflicts: .*: 1\n {2}a\.shop\.web \(ConflictPaused\)$/m)
})

test('FLEET-94: a device that may not get it at present waits', () => {
  const fleet = { deployments: [web], revisions: [storedOf(web)], devices: [aDevice('a', true), aDevice('b')] }
  const found = drilled({ ...fleet, desired: [keyOf(web, 'b')] })
  expect(found).toMatchObject({ ...nothing, waiting: [{ key: 'a.shop.web', reason: 'Pinned' }], isOpen: false })
  expect(found.text).toMatch(/^waiting: .*: 1\n {2}a\.shop\.web \(Pinned\)$/m)
})

test('FLEET-66: a Deployment that was made anew is not taken for gone: its revision comes first', () => {
  const before = deploymentOf('web', { uid: 'uid-before' })
  const found = drilled({ deployments: [web], devices: [aDevice('a')], desired: [keyOf(before, 'a')] })
  expect(found).toMatchObject({ ...nothing, revisions: [expect.stringMatching(/^shop\/web-.*@1$/)], isOpen: true })
  const gone = drilled({ devices: [aDevice('a')], desired: [keyOf(before, 'a')] })
  expect(gone).toMatchObject({ deletes: [{ key: 'a.shop.web', reason: 'DeploymentGone' }], isOpen: true })
})

test('FLEET-66: what the brake would hold is told, is no deletion, and closes the gate', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const found = drilled({ devices: names.map((name) => aDevice(name)), desired: names.map((name) => keyOf(web, name)) })
  expect(found).toMatchObject({ ...nothing, held: { count: names.length }, isOpen: true })
  expect(found.text).toMatch(/^held by the brake: 6\n {2}nothing needs 6 of 6 keys/m)
})

test('FLEET-65, FLEET-66: keys of a later release are told, and are neither changed nor a problem', () => {
  const bytes = Buffer.from('{"schema":2,"generation":1,"digest":"sha256:00","payload":{}}')
  const fleet = { deployments: [web], revisions: [storedOf(web)], devices: [aDevice('a')] }
  const found = drilled({ ...fleet, desired: [{ key: 'a.shop.web', bytes, revision: 1 }] })
  expect(found).toMatchObject({ ...nothing, later: ['a.shop.web'], isOpen: false })
  expect(found.text).toMatch(/^keys of a later release, .*: 1\n {2}a\.shop\.web$/m)
})

test('FLEET-66: entries that can’t be read, and Deployments that can’t be worked on, are told with the reason', () => {
  const broken = deploymentOf('broken', { spec: { targetExpression: 'device.' } })
  const found = drilled({
    deployments: [broken],
    revisions: [storedOf(broken)],
    devices: [aDevice('a')],
    desired: [{ key: 'a.shop.other', bytes: Buffer.from('no JSON'), revision: 1 }],
  })
  expect(found.problems).toEqual([expect.stringContaining('JSON'), expect.stringMatching(/^shop\/broken: /)])
  expect(found.text).toMatch(/^what can’t be read or worked on: 2$/m)
})
