import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PLACEMENT_PHASES } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { CREATED, deploymentOf, deviceOf, scoreOf, viewOf, World, writesOf } from '#test/worlds/fleet/builders.ts'
import { findOrBuildRevision } from '../rollout/revisions.ts'
import type { FleetState } from './fleet-state.ts'
import { deploymentView } from './views.ts'

const eu = { matchLabels: { region: 'eu' } }

const running = (): { world: World; operator: FleetState } => {
  const world = new World()
  world.deploy(deploymentOf('web', { selector: eu }))
  world.join(deviceOf('a', { region: 'eu' }), deviceOf('b', { region: 'eu' }))
  const operator = world.operator()
  world.store(operator)
  operator.stateSeen(world.say('a', 'web'))
  operator.stateSeen(world.say('b', 'web'))
  return { world, operator }
}

const countsOf = (operator: FleetState) => operator.aggregate('shop/web')

describe('desired state', () => {
  // FLEET-36
  test('label_change_moves_device: only its own keys change', () => {
    const { world, operator } = running()
    operator.deploymentSeen(viewOf(world.deploy(deploymentOf('us', { selector: { matchLabels: { region: 'us' } } }))))
    operator.deviceSeen(deviceOf('a', { region: 'us' }))
    expect(writesOf(operator).map(({ kind, key }) => `${kind} ${key}`)).toEqual(['Put a.shop.us', 'Delete a.shop.web'])
  })

  test('what was there at the start and ceases to match is no orphan', () => {
    const restarted = running().world.operator()
    restarted.deviceSeen(deviceOf('a', { region: 'us' }))
    expect(restarted.takeWrites()).toEqual([])
    expect(restarted.unneededKeys()).toMatchObject([
      { key: 'a.shop.web', revision: 1, reason: 'NotMatched', isInherited: false },
    ])
  })

  test('a key of which nothing is left, not even its deletion, is written as one that never was', () => {
    const { operator } = running()
    operator.deviceSeen(deviceOf('a', { region: 'us' }))
    operator.takeWrites()
    operator.desiredSeen({ key: 'a.shop.web', bytes: undefined, revision: 9 })
    operator.deviceSeen(deviceOf('a', { region: 'eu' }))
    expect(operator.takeWrites()).toMatchObject([{ kind: 'Put', key: 'a.shop.web', revision: 9 }])
    operator.desiredSeen({ key: 'a.shop.web', bytes: undefined, revision: 0 })
    expect(operator.takeWrites()).toMatchObject([{ kind: 'Put', key: 'a.shop.web', revision: 0 }])
  })

  test('a Deployment that a person deleted takes its keys along', () => {
    const { operator } = running()
    operator.deploymentDeleted('shop/web', 'uid-of-web')
    expect(operator.takeWrites().map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'Delete a.shop.web',
      'Delete b.shop.web',
    ])
  })

  // FLEET-61
  test('a Deployment that vanished is not one that a person deleted: its keys wait for the brake, and for it to come back', () => {
    const { operator } = running()
    operator.deploymentDeleted('shop/web')
    expect(operator.takeWrites()).toEqual([])
    expect(operator.unneededKeys()).toMatchObject([
      { key: 'a.shop.web', reason: 'DeploymentGone', isInherited: false },
      { key: 'b.shop.web', reason: 'DeploymentGone', isInherited: false },
    ])
    operator.deploymentSeen(viewOf(deploymentOf('web', { selector: eu })))
    expect([operator.takeWrites(), operator.unneededKeys()]).toEqual([[], []])
  })

  // FLEET-62
  test('while the key of a vanished Deployment is there, nothing else comes into its slot', () => {
    const world = new World()
    world.deploy(deploymentOf('one', { spec: { slot: 'firmware' } }))
    world.join(deviceOf('a'))
    const operator = world.operator()
    world.store(operator)
    operator.deploymentDeleted('shop/one')
    operator.deploymentSeen(viewOf(world.deploy(deploymentOf('two', { spec: { slot: 'firmware' } }))))
    expect(operator.takeWrites()).toEqual([])
    operator.desiredSeen(world.desired.delete('a.shop.one'))
    expect(operator.takeWrites()).toMatchObject([{ kind: 'Put', key: 'a.shop.two' }])
  })

  // FLEET-25
  test('a Deployment that is being deleted takes its own keys along after a restart too: no brake holds them', () => {
    const deleting = (uid: string) => {
      const { world } = running()
      const { metadata, ...web } = deploymentOf('web', { uid })
      world.deploy({ ...web, metadata: { ...metadata, deletionTimestamp: CREATED } })
      return world.operator()
    }
    const own = deleting('uid-of-web')
    expect(own.takeWrites().map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'Delete a.shop.web',
      'Delete b.shop.web',
    ])
    expect(own.unneededKeys()).toEqual([])
    expect(deleting('another').takeWrites()).toEqual([])
  })

  // FLEET-26
  test('cr_deleted_and_recreated_same_name: the new one takes the keys over, and old states count for nothing', () => {
    const { world, operator } = running()
    const anew = deploymentOf('web', { selector: eu, uid: 'anew', command: 'other' })
    world.deploy({ ...anew, metadata: { ...anew.metadata, creationTimestamp: '2026-02-01T00:00:00Z' } })
    const restarted = world.operator()
    expect(world.store(restarted)).toBe(2)
    expect(countsOf(restarted)).toMatchObject({ matched: 2, targeted: 2, updated: 0, unreported: 2 })
    // The old one's operator has not heard of it, and takes nothing back.
    for (const seen of world.desired.replay()) operator.desiredSeen(seen)
    expect(operator.takeWrites()).toEqual([])
  })

  // FLEET-4
  test('gc_never_deletes_key_written_after_seed: what another operator wrote for what is unknown here stays', () => {
    const { world, operator } = running()
    const other = new World()
    other.deploy(deploymentOf('late'))
    other.join(deviceOf('a'))
    for (const write of other.operator().takeWrites())
      if (write.kind === 'Put') operator.desiredSeen(world.desired.put(write.key, write.bytes))
    expect(operator.takeWrites()).toEqual([])
    expect(operator.unneededKeys()).toEqual([])
  })

  test('what ceases to be wanted while it is being written is deleted when it is there', () => {
    const world = new World()
    world.join(deviceOf('a'))
    const operator = world.operator()
    operator.deploymentSeen(viewOf(deploymentOf('web')))
    const [write] = operator.takeWrites()
    operator.deploymentDeleted('shop/web')
    expect(operator.takeWrites()).toEqual([])
    if (write?.kind !== 'Put') throw new Error('nothing was to be put')
    operator.desiredSeen(world.desired.put(write.key, write.bytes))
    expect(writesOf(operator)).toEqual([{ kind: 'Delete', key: 'a.shop.web', revision: 1 }])
  })

  // FLEET-13
  test('kv_wiped: every key is written again, with the same bytes', () => {
    const { world, operator } = running()
    const before = world.desired.texts()
    world.desired.values.clear()
    world.desired.revision = 0
    operator.bucketRecreated('desired')
    expect(world.store(operator)).toBe(2)
    expect(world.desired.texts()).toEqual(before)
  })

  // FLEET-16
  test('malformed_kv_entry: it is said, everything else goes on, and what is wanted replaces it', () => {
    const { world } = running()
    world.desired.put('a.shop.web', Buffer.from('nonsense'))
    world.desired.put('not a key', Buffer.from('{}'))
    const operator = world.operator()
    expect(operator.stateSeen({ key: 'a.shop.web', bytes: Buffer.from('{}'), revision: 90 })).toMatchObject({
      reason: 'Shape',
    })
    expect(operator.heartbeatSeen({ key: 'a.b', bytes: undefined, revision: 90 })).toMatchObject({ reason: 'Key' })
    expect(operator.takeWrites().map(({ kind, key }) => `${kind} ${key}`)).toEqual(['Put a.shop.web'])
    expect(countsOf(operator)).toMatchObject({ matched: 2, succeeded: 1, held: 0 })
  })

  // FLEET-65
  test('two_versions_overlap_no_flap: what a later release wrote is left alone, until a person deletes the Deployment', () => {
    const later = Buffer.from('{"schema":2,"generation":1,"digest":"sha256:00","payload":{}}')
    const { world, operator } = running()
    const seen = world.desired.put('a.shop.web', later)
    expect(operator.desiredSeen(seen)).toMatchObject({ reason: 'Schema' })
    const restarted = world.operator()
    const next = findOrBuildRevision([], { generation: 2, score: scoreOf('next') }, undefined).revision
    for (const one of [operator, restarted]) {
      expect([writesOf(one), one.unneededKeys()]).toEqual([[], []])
      expect(countsOf(one)).toMatchObject({ matched: 2, held: 1, offenders: [{ device: 'a', state: 'held' }] })
      expect(one.countLaterEntries('shop/web')).toBe(1)
      one.deploymentSeen(deploymentView(deploymentOf('web', { selector: eu }), { ...next, revision: 2 }))
      expect(one.takeWrites().map(({ key }) => key)).toEqual(['b.shop.web'])
      // It is not seen any more, for whatever reason.
      one.deviceDeleted('a')
      expect([one.takeWrites(), one.unneededKeys()]).toEqual([[], []])
    }
    const { metadata, ...web } = deploymentOf('web', { selector: eu })
    operator.deploymentSeen(viewOf({ ...web, metadata: { ...metadata, deletionTimestamp: CREATED } }))
    expect(operator.takeWrites()).toContainEqual({ kind: 'Delete', key: 'a.shop.web', revision: seen.revision })
  })

  // FLEET-50
  test('kv_restored_from_old_backup_pauses_device: one with a later revision than there is, is not touched', () => {
    const { world, operator } = running()
    operator.stateSeen(world.say('a', 'web', { revision: 7 }))
    const changed = deploymentOf('web', { selector: eu, command: 'other' })
    const old = findOrBuildRevision([], { generation: 1, score: scoreOf('web') }, undefined).revision
    const next = findOrBuildRevision([old], { generation: 2, score: scoreOf('other') }, undefined).revision
    operator.deploymentSeen(deploymentView(changed, next, [next, old]))
    expect(operator.takeWrites().map(({ key }) => key)).toEqual(['b.shop.web'])
    expect(countsOf(operator)).toMatchObject({
      held: 1,
      offenders: [{ device: 'a', state: 'held', message: expect.stringContaining('restored from a backup') }],
    })
  })

  test('failed_canary_rolls_back_only_canary: a device that has the workload under an older number is left alone', () => {
    const { world, operator } = running()
    const web = deploymentOf('web', { selector: eu })
    const [first, bad] = [1, 2].map((revision) => ({
      ...findOrBuildRevision([], { generation: revision, score: scoreOf(revision === 1 ? 'web' : 'bad') }, undefined)
        .revision,
      revision,
    }))
    if (first === undefined || bad === undefined) throw new Error('no revisions')
    const canary = { from: 1, admits: ({ name }: { name: string }) => name === 'a' }
    operator.deploymentSeen(deploymentView(web, bad, [bad, first], canary))
    expect(world.store(operator)).toBe(1)
    expect(countsOf(operator)).toMatchObject({ targeted: 1, held: 1 })
    operator.deploymentSeen(deploymentView(web, { ...first, revision: 3 }, [bad, first]))
    expect(operator.takeWrites().map(({ key }) => key)).toEqual(['a.shop.web'])
  })

  // FLEET-34
  test('a pinned device keeps what it has, also when the store is wiped', () => {
    const { world, operator } = running()
    operator.deviceSeen(deviceOf('a', { region: 'eu' }, true))
    const old = findOrBuildRevision([], { generation: 1, score: scoreOf('web') }, undefined).revision
    const next = findOrBuildRevision([old], { generation: 2, score: scoreOf('next') }, undefined).revision
    operator.deploymentSeen(deploymentView(deploymentOf('web', { selector: eu }), next, [next, old]))
    world.store(operator)
    expect(countsOf(operator)).toMatchObject({ held: 1, targeted: 1 })
    world.desired.values.clear()
    operator.bucketRecreated('desired')
    world.store(operator)
    const bytes = world.desired.values.get('a.shop.web')?.bytes ?? new Uint8Array()
    expect(desiredCodec.decode(bytes).payload.revision).toBe(1)
  })
})

describe('states', () => {
  // FLEET-10
  test('clock_going_backwards_device: the order of the bucket counts, not the time of the device', () => {
    const { world, operator } = running()
    operator.stateSeen(world.say('a', 'web', { phase: 'Failed', at: '1999-01-01T00:00:00Z', message: 'no space' }))
    expect(countsOf(operator)).toMatchObject({ succeeded: 1, failed: 1, lastError: 'a: no space' })
  })

  test('a long message is cut between characters: the half of one could be stored nowhere', () => {
    const { world, operator } = running()
    const message = `${'x'.repeat(1_020)}🙂🙂`
    operator.stateSeen(world.say('a', 'web', { phase: 'Failed', message }))
    const { lastError, offenders } = countsOf(operator) ?? {}
    expect(lastError).toBe(`a: ${'x'.repeat(1_020)}\ufffd`)
    expect(offenders).toEqual([{ device: 'a', state: 'failed', message }])
  })

  // FLEET-10
  test('duplicate_and_out_of_order_state: what is not newer changes nothing', () => {
    const { world, operator } = running()
    const early = world.say('a', 'web', { phase: 'Pending' })
    const late = world.say('a', 'web', { phase: 'Failed' })
    operator.stateSeen(late)
    operator.takeDirtyDeployments()
    operator.stateSeen(early)
    operator.stateSeen(late)
    expect(operator.takeDirtyDeployments()).toEqual([])
    expect(countsOf(operator)).toMatchObject({ failed: 1, pending: 0 })
  })

  // FLEET-15
  test('heartbeat_expiry_marks_offline: at once, for every Deployment of the device', () => {
    const { world, operator } = running()
    operator.takeDirtyDeployments()
    operator.heartbeatSeen(world.beat('a'))
    expect(operator.takeDirtyDeployments()).toEqual([])
    operator.heartbeatSeen(world.heartbeats.delete('a'))
    expect(operator.takeDirtyDeployments()).toEqual(['shop/web'])
    expect(countsOf(operator)).toMatchObject({ succeeded: 1, offline: 1 })
  })

  test('device_hold_counts_as_held', () => {
    const { world, operator } = running()
    operator.stateSeen(world.say('a', 'web', { phase: 'Pending', hold: true, message: 'a customer is served' }))
    expect(countsOf(operator)).toMatchObject({
      held: 1,
      offenders: [{ device: 'a', state: 'held', message: 'a customer is served' }],
    })
  })

  // FLEET-28
  test('ten offenders are named, the worst first', () => {
    const { world, operator } = running()
    for (let i = 0; i < 12; i += 1) {
      const device = deviceOf(`n${String(i).padStart(2, '0')}`, { region: 'eu' })
      world.join(device)
      operator.deviceSeen(device)
      operator.heartbeatSeen(world.beat(device.name))
    }
    operator.stateSeen(world.say('b', 'web', { phase: 'Failed', message: 'bad' }))
    const { offenders = [] } = countsOf(operator) ?? {}
    expect(offenders).toHaveLength(10)
    expect(offenders.slice(0, 2).map(({ device, state }) => `${device} ${state}`)).toEqual([
      'b failed',
      'n00 unreported',
    ])
  })

  // FLEET-28
  test('devices that are offline leave room for one that is held', () => {
    const { world, operator } = running()
    for (let i = 0; i < 12; i += 1) {
      const device = deviceOf(`n${String(i).padStart(2, '0')}`, { region: 'eu' })
      world.join(device)
      operator.deviceSeen(device)
      operator.stateSeen(world.say(device.name, 'web'))
    }
    const pinned = deviceOf('pinned', { region: 'eu' }, true)
    world.join(pinned)
    operator.deviceSeen(pinned)
    operator.heartbeatSeen(world.beat(pinned.name))
    const { offenders = [], offline } = countsOf(operator) ?? {}
    expect(offline).toBe(12)
    expect(offenders).toHaveLength(10)
    expect(offenders.at(-1)).toEqual({ device: 'pinned', state: 'held', message: 'it is pinned' })
  })
})

describe('under random events', () => {
  const device = fc.constantFrom('a', 'b', 'c')
  const deployment = fc.constantFrom('web', 'api')
  const region = fc.constantFrom('eu', 'us')
  const phase = fc.constantFrom('Pending' as const, 'Running' as const, 'Failed' as const)
  /** Does one thing to the world, and tells the operator of it as the watches would. */
  type Happening = (world: World, operator: FleetState) => void

  const happening: fc.Arbitrary<Happening> = fc.oneof(
    fc.tuple(device, region, fc.boolean()).map(
      ([name, at, pinned]): Happening =>
        (world, operator) => {
          const one = deviceOf(name, { region: at }, pinned)
          world.devices.set(name, one)
          operator.deviceSeen(one)
        },
    ),
    device.map(
      (name): Happening =>
        (world, operator) => {
          world.devices.delete(name)
          operator.deviceDeleted(name)
        },
    ),
    fc.tuple(deployment, region).map(
      ([name, at]): Happening =>
        (world, operator) => {
          operator.deploymentSeen(
            viewOf(world.deploy(deploymentOf(name, { selector: { matchLabels: { region: at } } }))),
          )
        },
    ),
    deployment.map(
      (name): Happening =>
        (world, operator) => {
          world.deployments.delete(name)
          operator.deploymentDeleted(`shop/${name}`)
        },
    ),
    fc.tuple(device, deployment, phase, fc.boolean()).map(
      ([at, of, now, hold]): Happening =>
        (world, operator) => {
          operator.stateSeen(world.say(at, of, { phase: now, hold, at: CREATED }))
        },
    ),
    device.map(
      (name): Happening =>
        (world, operator) =>
          void operator.heartbeatSeen(world.beat(name)),
    ),
    device.map(
      (name): Happening =>
        (world, operator) =>
          void operator.heartbeatSeen(world.heartbeats.delete(name)),
    ),
    fc.constant<Happening>((world, operator) => void world.store(operator)),
    fc.nat(2).map(
      (most): Happening =>
        (world, operator) => {
          const before = world.desired.revision
          world.store(operator, most)
          expect(world.desired.revision - before).toBeLessThanOrEqual(most)
        },
    ),
  )

  // By itself fast-check would stop at ten: too few for a device to join, move, and be forgotten.
  const story = fc.array(happening, { maxLength: 60, size: 'max' })

  const live = (happenings: readonly Happening[], check: (world: World, operator: FleetState) => void) => {
    const world = new World()
    const operator = world.operator()
    for (const happens of happenings) {
      happens(world, operator)
      check(world, operator)
    }
    return { world, operator }
  }

  // FLEET-27
  test('the sum rule: every matched device counts as exactly one thing', () => {
    fc.assert(
      fc.property(story, (happenings) => {
        live(happenings, (world, operator) => {
          for (const { metadata, spec } of world.deployments.values()) {
            const counts = operator.aggregate(`shop/${metadata.name}`)
            if (counts === undefined) throw new Error('a Deployment is not known')
            const matched = [...world.devices.values()].filter(
              ({ labels }) => labels.region === spec.targetSelector.matchLabels?.region,
            )
            expect(PLACEMENT_PHASES.reduce((sum, phase) => sum + counts[phase], 0)).toBe(counts.matched)
            expect(counts.matched).toBe(matched.length)
            expect(counts.updated).toBeLessThanOrEqual(counts.targeted)
            expect(counts.targeted).toBeLessThanOrEqual(counts.matched)
          }
        })
      }),
    )
  })

  // FLEET-7
  test('what is stored in the end is what is wanted, and nothing more', () => {
    fc.assert(
      fc.property(story, (happenings) => {
        const { world, operator } = live(happenings, () => undefined)
        world.store(operator)
        expect(operator.takeWrites()).toEqual([])
        const pairs = [...world.deployments.values()].flatMap(({ metadata, spec }) =>
          [...world.devices.values()]
            .filter(({ labels }) => labels.region === spec.targetSelector.matchLabels?.region)
            .map(({ name, isPinned }) => ({ key: `${name}.shop.${metadata.name}`, isPinned })),
        )
        const keys = [...world.desired.values.keys()]
        // A pinned device may have got its key before it was pinned.
        expect(pairs.map(({ key }) => key)).toEqual(expect.arrayContaining(keys))
        expect(keys).toEqual(expect.arrayContaining(pairs.filter(({ isPinned }) => !isPinned).map(({ key }) => key)))
      }),
    )
  })

  // FLEET-1, FLEET-2
  test('a restart knows what the operator before it knew', () => {
    fc.assert(
      fc.property(story, (happenings) => {
        const { world, operator } = live(happenings, () => undefined)
        const restarted = world.operator()
        for (const name of world.deployments.keys())
          expect(restarted.aggregate(`shop/${name}`)).toEqual(operator.aggregate(`shop/${name}`))
      }),
    )
  })
})

test('a heartbeat that is told twice, or late, changes nothing: its number says what came after what', () => {
  const { world, operator } = running()
  const { key, bytes, revision } = world.beat('a')
  operator.heartbeatSeen({ key, bytes, revision })
  operator.heartbeatSeen({ key, bytes: undefined, revision })
  operator.heartbeatSeen({ key, bytes: undefined, revision: revision - 1 })
  expect(operator.isAlive('a')).toBe(true)
  operator.heartbeatSeen({ key, bytes: undefined, revision: revision + 1 })
  expect(operator.isAlive('a')).toBe(false)
})
