import { describe, expect, test } from 'vitest'
import { desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { newSigningKey, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { deploymentOf, deviceOf, viewOf, World } from '#test/worlds/fleet/builders.ts'
import { findOrBuildRevision } from '../rollout/revisions.ts'
import { FleetState } from './fleet-state.ts'
import type { KeyUpdate } from './key-update.ts'
import { deploymentView } from './views.ts'

const newKey = () => readSigningKeys(newSigningKey())

const [ours, next] = [newKey(), newKey()]

/** A fleet with a device that has what an operator without keys wrote. */
const unsigned = (pinned = false) => {
  const world = new World()
  world.deploy(deploymentOf('web'))
  world.join(deviceOf('a', {}, pinned))
  world.store(world.operator())
  return world
}

/** What an operator with keys makes of what is stored. */
const reading = (world: World, seen: readonly KeyUpdate[], pinned = false) => {
  const operator = new FleetState(ours)
  operator.seed(seen)
  for (const deployment of world.deployments.values()) operator.deploymentSeen(viewOf(deployment))
  operator.deviceSeen(deviceOf('a', {}, pinned))
  return operator
}

const signedBy = (operator: FleetState, entries: readonly KeyUpdate[]): KeyUpdate[] =>
  entries.map((entry) => ({
    ...entry,
    signature: operator.signer.sign(entry.key, entry.bytes ?? new Uint8Array()),
  }))

// FLEET-103
describe('an operator with keys', () => {
  test('writes an entry without a signature again, with the same bytes, and then no more', () => {
    const world = unsigned()
    const entries = world.desired.replay()
    const operator = reading(world, entries)
    expect(operator.takeWrites()).toEqual([
      { kind: 'Put', key: 'a.shop.web', bytes: entries[0]?.bytes, revision: entries[0]?.revision },
    ])
    operator.desiredSeen({ ...(signedBy(operator, entries)[0] as KeyUpdate), revision: 9 })
    expect(operator.takeWrites()).toEqual([])
  })

  test('writes nothing at a start when everything is signed, also where another key has signed it too', () => {
    const world = unsigned()
    const entries = world.desired.replay()
    expect(reading(world, signedBy(new FleetState(ours), entries)).takeWrites()).toEqual([])
    expect(reading(world, signedBy(new FleetState([...next, ...ours]), entries)).takeWrites()).toEqual([])
  })

  test('writes it again when the signature is by another key, or of another entry', () => {
    const world = unsigned()
    const entries = world.desired.replay()
    expect(reading(world, signedBy(new FleetState(next), entries)).takeWrites()).toHaveLength(1)
    const signature = new FleetState(ours).signer.sign('b.shop.web', entries[0]?.bytes ?? new Uint8Array())
    expect(
      reading(
        world,
        entries.map((entry) => ({ ...entry, signature })),
      ).takeWrites(),
    ).toHaveLength(1)
  })

  // FLEET-104
  test('writes every entry once more when its keys are others', () => {
    const world = unsigned()
    const operator = reading(world, signedBy(new FleetState(ours), world.desired.replay()))
    expect(operator.takeWrites()).toEqual([])
    operator.useSigningKeys([...ours, ...next])
    expect(operator.takeWrites()).toHaveLength(1)
  })

  test('signs what a held device keeps, as it is, where that is the revision that it is to keep', () => {
    const [before] = unsigned().desired.replay()
    const operator = new FleetState(ours)
    operator.seed([before as KeyUpdate])
    const changed = deploymentOf('web', { command: 'other' })
    const first = viewOf(deploymentOf('web')).target
    const { revision } = findOrBuildRevision([first], { generation: 2, score: changed.spec.score }, undefined)
    operator.deploymentSeen(deploymentView(changed, revision, [first, revision], { from: 1, admits: () => true }))
    operator.deviceSeen(deviceOf('a', {}, true))
    expect(operator.takeWrites()).toMatchObject([{ kind: 'Put', key: 'a.shop.web', bytes: before?.bytes }])
  })

  test('signs nothing that it finds and would not write: what another put there for a held device stays unsigned', () => {
    const world = unsigned(true)
    const planted = deploymentOf('web', { command: 'planted' })
    const bytes = viewOf(planted).encodeDesired(viewOf(planted).target, deviceOf('a'))
    const operator = reading(world, [{ key: 'a.shop.web', bytes, revision: 7 }], true)
    expect(operator.takeWrites()).toEqual([])
  })

  test('attack: the entry of a held device is deleted, and another put in its place: the device gets back what it is to keep', () => {
    const [before] = unsigned().desired.replay()
    const web = viewOf(deploymentOf('web'))
    const planted = desiredCodec.encode(
      {
        owner: { uid: web.uid, created: web.created },
        revision: 1,
        score: deploymentOf('web', { command: 'planted' }).spec.score,
        filled: { digest: web.target.digest, device: '9'.repeat(30) },
      },
      1,
    )
    const operator = new FleetState(ours)
    operator.seed(signedBy(operator, [before as KeyUpdate]))
    operator.deploymentSeen(web)
    operator.deviceSeen(deviceOf('a', {}, true))
    operator.desiredSeen({ key: 'a.shop.web', bytes: undefined, revision: 6 })
    operator.desiredSeen({ key: 'a.shop.web', bytes: planted, revision: 7 })
    expect(operator.takeWrites()).toEqual([{ kind: 'Put', key: 'a.shop.web', bytes: before?.bytes, revision: 7 }])
  })

  test('attack: an entry with a number that no Deployment can have is put right, and no person is asked to overrule it', () => {
    const web = viewOf(deploymentOf('web'))
    const owner = { uid: web.uid, created: web.created }
    const { score } = deploymentOf('web', { command: 'planted' }).spec
    const planted = desiredCodec.encode({ owner, revision: 2 ** 53 - 1, score }, 1)
    const operator = new FleetState(ours)
    operator.seed([{ key: 'a.shop.web', bytes: planted, revision: 7 }])
    operator.deploymentSeen(web)
    operator.deviceSeen(deviceOf('a'))
    expect(operator.takeWrites()).toMatchObject([{ kind: 'Put', revision: 7 }])
  })
})

// FLEET-103
test('an operator without keys writes nothing because of signatures', () => {
  const world = unsigned()
  const operator = new FleetState()
  operator.seed(signedBy(new FleetState(ours), world.desired.replay()))
  for (const deployment of world.deployments.values()) operator.deploymentSeen(viewOf(deployment))
  operator.deviceSeen(deviceOf('a'))
  expect(operator.takeWrites()).toEqual([])
  expect(operator.signer.sign('a.shop.web', new Uint8Array())).toBe('')
})
