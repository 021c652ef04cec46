/** What keeps a device from what is rolled out, or gives its slot to another Deployment. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PLACEMENT_PHASES } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { DeploymentSpec } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { deploymentOf, deviceOf, scoreOf, viewOf, World } from '#test/worlds/fleet/builders.ts'
import { findOrBuildRevision, type Revision } from '../rollout/revisions.ts'
import type { FleetState } from './fleet-state.ts'
import { deploymentView } from './views.ts'

const keys = (world: World) => [...world.desired.values.keys()].toSorted()
const assigned = (world: World, key: string) => {
  const bytes = world.desired.values.get(key)?.bytes
  return bytes === undefined ? undefined : desiredCodec.decode(bytes).payload
}
const started = (world: World): FleetState => {
  const operator = world.operator()
  world.store(operator)
  return operator
}

describe('a slot', () => {
  const firmware = (name: string, priority: number, created?: string) =>
    deploymentOf(name, { ...(created !== undefined && { created }), spec: { slot: 'firmware', priority } })

  // FLEET-29
  test('two_deployments_same_slot_one_winner: the higher priority has it, and the other says who', () => {
    const world = new World()
    world.deploy(firmware('base', 0))
    world.deploy(firmware('fix', 10))
    world.join(deviceOf('a'))
    const operator = started(world)
    expect(keys(world)).toEqual(['a.shop.fix'])
    expect(operator.aggregate('shop/base')).toMatchObject({
      matched: 1,
      held: 1,
      offenders: [
        { device: 'a', message: 'its slot firmware has shop/fix, of priority 10 and made 2026-01-01T00:00:00Z' },
      ],
    })
    expect(operator.aggregate('shop/fix')).toMatchObject({ held: 0, unreported: 1 })
  })

  test('is counted by all who want it, device by device, until they part', () => {
    const world = new World()
    world.deploy(firmware('base', 0))
    world.deploy(firmware('fix', 10))
    world.deploy(firmware('beta', 5))
    world.join(deviceOf('a'), deviceOf('b'))
    const operator = started(world)
    expect(operator.conflictCounts('shop/fix')).toEqual({
      lost: new Map(),
      won: new Map([
        ['shop/beta', 2],
        ['shop/base', 2],
      ]),
    })
    expect(operator.conflictCounts('shop/base')).toEqual({ lost: new Map([['shop/fix', 2]]), won: new Map() })
    expect(operator.slotConflictsOn('a')).toEqual([
      { slot: 'firmware', owner: 'shop/fix', others: ['shop/beta', 'shop/base'] },
    ])
    operator.deviceDeleted('b')
    expect(operator.conflictCounts('shop/beta')).toEqual({ lost: new Map([['shop/fix', 1]]), won: new Map() })
    operator.takeDirtyDeployments()
    operator.deploymentSeen(viewOf(deploymentOf('fix', { spec: { slot: 'bios', priority: 10 } })))
    expect(operator.conflictCounts('shop/fix')).toBeUndefined()
    expect(operator.conflictCounts('shop/base')).toMatchObject({ lost: new Map([['shop/beta', 1]]) })
    operator.deploymentDeleted('shop/beta')
    expect([operator.conflictCounts('shop/base'), operator.slotConflictsOn('a')]).toEqual([undefined, []])
    expect(operator.takeDirtyDeployments().toSorted()).toEqual(['shop/base', 'shop/fix'])
  })

  // FLEET-29
  test('goes to the older one when priorities are equal, then to the first by name', () => {
    const world = new World()
    world.deploy(firmware('b', 0))
    world.deploy(firmware('c', 0))
    world.deploy(firmware('a', 0, '2026-02-01T00:00:00Z'))
    world.join(deviceOf('a'))
    started(world)
    expect(keys(world)).toEqual(['a.shop.b'])
  })

  test('changes hands in one pass, and comes back when the winner goes', () => {
    const world = new World()
    world.deploy(firmware('base', 0))
    world.join(deviceOf('a'))
    const operator = started(world)
    operator.deploymentSeen(viewOf(world.deploy(firmware('fix', 10))))
    expect(world.store(operator)).toBe(2)
    expect(keys(world)).toEqual(['a.shop.fix'])
    operator.deploymentDeleted('shop/fix')
    world.store(operator)
    // What was deleted frees the slot when it is gone.
    world.store(operator)
    expect(keys(world)).toEqual(['a.shop.base'])
  })

  // FLEET-30
  test('stays with who has it while the turn of the one before it has not come', () => {
    const world = new World()
    world.deploy(firmware('base', 0))
    world.join(deviceOf('a'), deviceOf('b'))
    const operator = started(world)
    const fix = world.deploy(firmware('fix', 10))
    const { revision } = findOrBuildRevision([], { generation: 1, score: fix.spec.score }, undefined)
    const turn = { admits: ({ name }: { name: string }) => name === 'a' }
    operator.deploymentSeen(deploymentView(fix, revision, [revision], turn))
    world.store(operator)
    expect(keys(world)).toEqual(['a.shop.fix', 'b.shop.base'])
  })

  test('changes hands also for the revision that a device keeps until the turn of the new one comes', () => {
    const world = new World()
    world.deploy(firmware('base', 0))
    world.join(deviceOf('a'))
    const operator = started(world)
    const fix = world.deploy(firmware('fix', 10))
    const old = findOrBuildRevision([], { generation: 1, score: scoreOf('old') }, undefined).revision
    const { revision } = findOrBuildRevision([old], { generation: 2, score: fix.spec.score }, undefined)
    operator.deploymentSeen(deploymentView(fix, revision, [revision, old], { from: 1, admits: () => false }))
    world.store(operator)
    expect(keys(world)).toEqual(['a.shop.fix'])
    expect(assigned(world, 'a.shop.fix')?.revision).toBe(1)
  })

  // FLEET-30
  test('waits for its holder while that one must stay: its history is lost, and that is not overruled yet', () => {
    const world = new World()
    const base = firmware('base', 0)
    world.deploy(base)
    world.join(deviceOf('a'))
    started(world)
    const other = { ...base, spec: { ...base.spec, score: scoreOf('of another history') } }
    world.deploy(other)
    world.deploy(firmware('fix', 10))
    const operator = world.operator()
    expect(operator.takeWrites()).toEqual([])
    expect(operator.slotConflictsOn('a')).toEqual([{ slot: 'firmware', owner: 'shop/base', others: ['shop/fix'] }])
    expect(operator.aggregate('shop/fix')).toMatchObject({ held: 1, targeted: 0 })
    const annotations = { 'fleet.nationtech.io/overrule-revision': '1' }
    operator.deploymentSeen(viewOf({ ...other, metadata: { ...other.metadata, annotations } }))
    world.store(operator)
    expect(keys(world)).toEqual(['a.shop.fix'])
  })

  // FLEET-65
  test('stays with the one whose entry a later release wrote, though another comes before it', () => {
    const world = new World()
    world.deploy(firmware('base', 0))
    world.join(deviceOf('a'))
    const operator = started(world)
    const later = Buffer.from('{"schema":2,"generation":1,"digest":"sha256:00","payload":{}}')
    operator.desiredSeen(world.desired.put('a.shop.base', later))
    operator.deploymentSeen(viewOf(firmware('fix', 10)))
    expect(operator.takeWrites()).toEqual([])
    expect(operator.aggregate('shop/fix')).toMatchObject({ matched: 1, held: 1 })
  })

  test('is another one by another name, and none without a name', () => {
    const world = new World()
    world.deploy(firmware('base', 0))
    world.deploy(deploymentOf('other', { spec: { slot: 'bios' } }))
    world.deploy(deploymentOf('free'))
    world.join(deviceOf('a'))
    started(world)
    expect(keys(world)).toEqual(['a.shop.base', 'a.shop.free', 'a.shop.other'])
  })
})

describe('a device is held', () => {
  const closed = { schedule: '0 2 * * SAT', timeZone: 'UTC', duration: '4h' } as const
  test.each<[string, Parameters<typeof deviceOf>[3], string]>([
    [
      'by a person',
      { annotations: { 'fleet.nationtech.io/hold': 'stocktaking' } },
      'a person holds changes back: stocktaking',
    ],
    [
      'by a taint',
      { spec: { taints: [{ key: 'lab', effect: 'NoSchedule' }] } },
      'no toleration bears its taint lab:NoSchedule',
    ],
    [
      'by its windows: window_closed_writes_nothing',
      { spec: { windows: [closed] } },
      'its next window opens at 2026-06-06T02:00:00.000Z',
    ],
  ])('%s', (_by, more, message) => {
    const world = new World()
    world.deploy(deploymentOf('web'))
    world.join(deviceOf('a', {}, false, more))
    const operator = started(world)
    expect(keys(world)).toEqual([])
    expect(operator.aggregate('shop/web')).toMatchObject({
      matched: 1,
      held: 1,
      offenders: [{ device: 'a', state: 'held', message }],
    })
    operator.deviceSeen(deviceOf('a'))
    world.store(operator)
    expect(keys(world)).toEqual(['a.shop.web'])
  })

  // FLEET-34
  test('and what it has stays, and counts as what it says', () => {
    const world = new World()
    world.deploy(deploymentOf('web'))
    world.join(deviceOf('a'))
    const operator = started(world)
    operator.stateSeen(world.say('a', 'web'))
    operator.deviceSeen(deviceOf('a', {}, false, { spec: { windows: [closed] } }))
    expect(operator.takeWrites()).toEqual([])
    expect(operator.aggregate('shop/web')).toMatchObject({ held: 0, succeeded: 1 })
  })
})

// FLEET-31, FLEET-33
test('a taint that is not borne takes away what is there, and what comes back when it goes', () => {
  const world = new World()
  world.deploy(deploymentOf('web'))
  world.deploy(deploymentOf('lab', { spec: { tolerations: [{ key: 'lab', operator: 'Exists' }] } }))
  world.join(deviceOf('a'))
  const operator = started(world)
  operator.deviceSeen(deviceOf('a', {}, false, { spec: { taints: [{ key: 'lab', effect: 'NoExecute' }] } }))
  world.store(operator)
  expect(keys(world)).toEqual(['a.shop.lab'])
  expect(operator.aggregate('shop/web')).toMatchObject({ matched: 0 })
  operator.deviceSeen(deviceOf('a'))
  world.store(operator)
  expect(keys(world)).toEqual(['a.shop.lab', 'a.shop.web'])
})

// FLEET-32
test('an expression that begins to fail empties no device: what is there stays, and nothing is added', () => {
  const world = new World()
  const spec = { targetExpression: "device.inventory.arch == 'arm64'" }
  world.deploy(deploymentOf('web', { spec }))
  const arm = (name: string) => deviceOf(name, {}, false, { spec: { inventory: { arch: 'arm64' } } })
  world.join(arm('a'))
  const operator = started(world)
  expect(keys(world)).toEqual(['a.shop.web'])
  for (const name of ['a', 'b']) {
    world.join(deviceOf(name))
    operator.deviceSeen(deviceOf(name))
  }
  expect(operator.takeWrites()).toEqual([])
  expect(operator.aggregate('shop/web')).toMatchObject({ matched: 1 })
  expect(world.operator().takeWrites()).toEqual([])
  operator.deviceSeen(deviceOf('a', {}, false, { spec: { inventory: { arch: 'amd64' } } }))
  world.store(operator)
  expect(keys(world)).toEqual([])
})

// FLEET-115
test('of how many devices an expression fails is known, with the first of them, and told when it changes', () => {
  const world = new World()
  world.deploy(deploymentOf('web', { spec: { targetExpression: "device.inventory.arch == 'arm64'" } }))
  world.deploy(deploymentOf('all'))
  for (const name of ['b', 'a']) world.join(deviceOf(name))
  const operator = started(world)
  expect(operator.undecided('shop/all')).toBeUndefined()
  expect(operator.undecided('shop/web')).toEqual({
    count: 2,
    device: 'a',
    why: expect.stringMatching(/^the expression fails: .*arch/),
  })
  operator.takeDirtyDeployments()
  const known = (name: string) => deviceOf(name, {}, false, { spec: { inventory: { arch: 'amd64' } } })
  operator.deviceSeen(known('a'))
  expect(operator.takeDirtyDeployments()).toContain('shop/web')
  expect(operator.undecided('shop/web')).toMatchObject({ count: 1, device: 'b' })
  operator.deviceDeleted('b')
  expect(operator.takeDirtyDeployments()).toContain('shop/web')
  expect(operator.undecided('shop/web')).toBeUndefined()
  operator.deviceSeen(deviceOf('c'))
  expect(operator.undecided('shop/web')).toMatchObject({ count: 1 })
  operator.deploymentSeen(viewOf(deploymentOf('web')))
  expect(operator.undecided('shop/web')).toBeUndefined()
})

describe('templates', () => {
  const score: DeploymentSpec['score'] = {
    type: 'Process',
    templated: true,
    data: { command: ['run', '--zone={{ .device.labels.zone }}'] },
  }
  const zoned = (name: string, zone: string, version = '1') => deviceOf(name, { zone }, false, { version })

  // FLEET-35
  test('every device gets its own bytes, and one that lacks a key gets nothing and counts as failed', () => {
    const world = new World()
    world.deploy(deploymentOf('web', { spec: { score } }))
    world.join(zoned('a', 'z1'), zoned('b', 'z2'), deviceOf('c'))
    const operator = started(world)
    expect(assigned(world, 'a.shop.web')?.score).toEqual({ type: 'Process', data: { command: ['run', '--zone=z1'] } })
    expect(assigned(world, 'b.shop.web')?.score.data.command).toEqual(['run', '--zone=z2'])
    expect(keys(world)).toEqual(['a.shop.web', 'b.shop.web'])
    expect(operator.aggregate('shop/web')).toMatchObject({
      matched: 3,
      targeted: 2,
      failed: 1,
      lastError: expect.stringContaining('c: spec.score.data.command[1]: there is no key "zone"'),
    })
  })

  // FLEET-35
  test('and it does before its turn, and when the rollout is suspended because of it', () => {
    const world = new World()
    const { revision } = findOrBuildRevision([], { generation: 1, score }, undefined)
    world.join(zoned('a', 'z1'), deviceOf('b'))
    const operator = started(world)
    const web = deploymentOf('web', { spec: { score } })
    operator.deploymentSeen(deploymentView(web, revision, [revision], { admits: () => false }))
    expect(operator.aggregate('shop/web')).toMatchObject({ matched: 2, failed: 1, held: 1 })
    operator.deviceSeen(deviceOf('b', {}, true, { version: '2' }))
    expect(operator.aggregate('shop/web')).toMatchObject({ matched: 2, failed: 0, held: 2 })
  })

  // FLEET-36
  test('a label that it uses changes the entry of that device alone; a restart and other labels write nothing', () => {
    const world = new World()
    world.deploy(deploymentOf('web', { spec: { score } }))
    world.join(zoned('a', 'z1'), zoned('b', 'z2'))
    const operator = started(world)
    expect(world.operator().takeWrites()).toEqual([])
    operator.deviceSeen(deviceOf('b', { zone: 'z2', other: 'x' }, false, { version: '7' }))
    expect(operator.takeWrites()).toEqual([])
    operator.deviceSeen(zoned('a', 'z9', '8'))
    expect(operator.takeWrites().map(({ kind, key }) => `${kind} ${key}`)).toEqual(['Put a.shop.web'])
  })

  // FLEET-22
  test('an operator whose watch is behind takes nothing back', () => {
    const world = new World()
    world.deploy(deploymentOf('web', { spec: { score } }))
    world.join(zoned('a', 'old', '9'))
    const behind = started(world)
    const operator = world.operator()
    operator.deviceSeen(zoned('a', 'new', '10'))
    world.store(operator)
    for (const seen of world.desired.replay()) behind.desiredSeen(seen)
    expect(behind.takeWrites()).toEqual([])
  })

  test('a pinned device keeps what was filled in, whatever becomes of its labels', () => {
    const world = new World()
    world.deploy(deploymentOf('web', { spec: { score } }))
    world.join(zoned('a', 'z1'))
    const operator = started(world)
    operator.deviceSeen(deviceOf('a', { zone: 'z2' }, true, { version: '2' }))
    expect(operator.takeWrites()).toEqual([])
    expect(operator.aggregate('shop/web')).toMatchObject({ held: 1 })
  })
})

describe('a restored backup', () => {
  const history = (words: readonly string[]): Revision[] => {
    const made: Revision[] = []
    for (const word of words)
      made.push(findOrBuildRevision(made, { generation: made.length + 1, score: scoreOf(word) }, undefined).revision)
    return made
  }
  const seeing = (words: readonly string[], annotations: Record<string, string> = {}) => {
    const all = history(words)
    const target = all.at(-1)
    if (target === undefined) throw new Error('no revision')
    return deploymentView(deploymentOf('web', { annotations }), target, all.toReversed())
  }

  // FLEET-50
  test('with older revisions rolls nothing back, also when new ones reach the numbers of those that were lost', () => {
    const world = new World()
    world.join(deviceOf('a'))
    const before = world.operator()
    before.deploymentSeen(seeing(['v1', 'v2', 'v3']))
    world.store(before)
    for (const words of [['v1'], ['v1', 'x2'], ['v1', 'x2', 'x3'], ['v1', 'x2', 'x3', 'x4']]) {
      const restored = world.operator()
      restored.deploymentSeen(seeing(words))
      expect(restored.takeWrites()).toEqual([])
      expect(restored.aggregate('shop/web')).toMatchObject({ held: 1 })
    }
  })

  // FLEET-50
  test('is overruled by the number of what was lost, and what the spec says follows it', () => {
    const world = new World()
    world.join(deviceOf('a'))
    const before = world.operator()
    before.deploymentSeen(seeing(['v1', 'v2', 'v3']))
    world.store(before)
    const known = history(['v1'])
    const { revision, isNew } = findOrBuildRevision(known, { generation: 1, score: scoreOf('v1') }, undefined, 3)
    expect([revision.revision, isNew]).toEqual([4, true])
    expect(findOrBuildRevision([...known, revision], { generation: 1, score: scoreOf('v1') }, undefined, 3).isNew).toBe(
      false,
    )
    const restored = world.operator()
    const deployment = deploymentOf('web', { annotations: { 'fleet.nationtech.io/overrule-revision': '3' } })
    restored.deploymentSeen(deploymentView(deployment, revision, [revision, ...known]))
    world.store(restored)
    expect(assigned(world, 'a.shop.web')).toMatchObject({ revision: 4, score: scoreOf('v1') })
  })
})

/** With whom each Deployment shares its slot, as the operator counts along. */
const contentions = (world: World, operator: FleetState) =>
  Object.fromEntries([...world.deployments.keys()].map((name) => [name, operator.conflictCounts(`shop/${name}`)]))

/** The same from what is stored: a Deployment with a key of the slot has it, and every one that is behind and for the device wants it. */
const recounted = (world: World, operator: FleetState) => {
  const slotted = [...world.deployments.values()].filter(({ spec }) => spec.slot !== undefined)
  const met = slotted.flatMap(({ metadata: { name } }) =>
    [...operator.matched(`shop/${name}`)].flatMap(({ deployment, device, slotOwner }) =>
      slotOwner === undefined ? [] : [{ device: device.name, owner: slotOwner.key, other: deployment.key }],
    ),
  )
  for (const { device, owner } of met) expect(keys(world)).toContain(`${device}.${owner.replace('/', '.')}`)
  const counted = (of: readonly string[]) =>
    new Map([...Map.groupBy(of, (key) => key)].map(([key, all]) => [key, all.length]))
  return Object.fromEntries(
    [...world.deployments.keys()].map((name) => {
      const key = `shop/${name}`
      const lost = counted(met.flatMap(({ owner, other }) => (other === key ? [owner] : [])))
      const won = counted(met.flatMap(({ owner, other }) => (owner === key ? [other] : [])))
      return [name, lost.size + won.size === 0 ? undefined : { lost, won }]
    }),
  )
}

const anyDevice = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c'),
    zone: fc.constantFrom(undefined, 'z1', 'z2'),
    pinned: fc.boolean(),
    hold: fc.boolean(),
    taint: fc.constantFrom(undefined, 'NoSchedule' as const, 'NoExecute' as const),
    closed: fc.boolean(),
  })
  .map(
    ({ name, zone, pinned, hold, taint, closed }) =>
      (version: number) =>
        deviceOf(name, zone === undefined ? {} : { zone }, pinned, {
          version: String(version),
          annotations: hold ? { 'fleet.nationtech.io/hold': '' } : {},
          spec: {
            ...(taint !== undefined && { taints: [{ key: 'lab', effect: taint }] }),
            ...(closed && { windows: [{ schedule: '0 2 * * SAT', timeZone: 'UTC', duration: '4h' as const }] }),
          },
        }),
  )

/** @param overruled whether a lost history is overruled: here every workload has the number 1, so that each change is one */
const anyDeployment = (overruled: fc.Arbitrary<boolean>) =>
  fc
    .record({
      name: fc.constantFrom('web', 'api', 'log'),
      slot: fc.constantFrom(undefined, 'one'),
      priority: fc.nat(2),
      expression: fc.constantFrom(undefined, "device.labels.zone == 'z1'"),
      templated: fc.boolean(),
      bears: fc.boolean(),
      overruled,
    })
    .map(({ name, slot, priority, expression, templated, bears, overruled }) =>
      deploymentOf(name, {
        annotations: overruled ? { 'fleet.nationtech.io/overrule-revision': '1' } : {},
        spec: {
          ...(slot !== undefined && { slot, priority }),
          ...(expression !== undefined && { targetExpression: expression }),
          ...(bears && { tolerations: [{ operator: 'Exists' as const }] }),
          score: { type: 'Process', templated, data: { command: ['{{ .device.labels.zone }}'] } },
        },
      }),
    )

type Happening = (world: World, operator: FleetState, turn: number) => void
const anyHappening = (overruled: fc.Arbitrary<boolean>): fc.Arbitrary<Happening> =>
  fc.oneof(
    anyDevice.map(
      (made): Happening =>
        (world, operator, turn) => {
          const one = made(turn + 1)
          world.join(one)
          operator.deviceSeen(one)
          operator.heartbeatSeen(world.beat(one.name))
        },
    ),
    anyDeployment(overruled).map(
      (made): Happening =>
        (world, operator) =>
          operator.deploymentSeen(viewOf(world.deploy(made))),
    ),
    fc.constantFrom('web', 'api', 'log').map(
      (name): Happening =>
        (world, operator) => {
          world.deployments.delete(name)
          operator.deploymentDeleted(`shop/${name}`)
        },
    ),
    fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('web', 'api', 'log')).map(
      ([name, of]): Happening =>
        (world, operator) =>
          void operator.stateSeen(world.say(name, of)),
    ),
    fc.constant<Happening>((world, operator) => void world.store(operator)),
  )

/** How many keys of the slot each device has. */
const sharers = (world: World): ReadonlyMap<string, number> => {
  const slotted = keys(world)
    .map((key) => key.split('.'))
    .filter(([, , name = '']) => world.deployments.get(name)?.spec.slot === 'one')
  return new Map([...Map.groupBy(slotted, ([device = '']) => device)].map(([device, all]) => [device, all.length]))
}

test('no second key comes into a slot, though the first is not touched: histories are lost and overruled, and slots change', () => {
  fc.assert(
    fc.property(fc.array(anyHappening(fc.boolean()), { maxLength: 40, size: 'max' }), (happenings) => {
      const world = new World()
      const operator = world.operator()
      happenings.forEach((happens, turn) => {
        happens(world, operator, turn)
        const before = sharers(world)
        world.store(operator)
        for (const [device, count] of sharers(world))
          expect(count).toBeLessThanOrEqual(Math.max(1, before.get(device) ?? 0))
        expect(contentions(world, operator)).toEqual(contentions(world, world.operator()))
      })
      // When a person has overruled what was lost, one is left.
      for (const { metadata, spec } of world.deployments.values()) {
        const annotations = { 'fleet.nationtech.io/overrule-revision': '1' }
        operator.deploymentSeen(viewOf(world.deploy(deploymentOf(metadata.name, { spec, annotations }))))
      }
      for (let pass = 0; pass < 4; pass += 1) world.store(operator)
      for (const count of sharers(world).values()) expect(count).toBe(1)
    }),
  )
})

// FLEET-27, FLEET-29
test('the sum rule, one owner of each slot and who wants it, whatever happens to devices and Deployments', () => {
  fc.assert(
    fc.property(fc.array(anyHappening(fc.constant(true)), { maxLength: 40, size: 'max' }), (happenings) => {
      const world = new World()
      const operator = world.operator()
      happenings.forEach((happens, turn) => {
        const before = structuredClone(contentions(world, operator))
        operator.takeDirtyDeployments()
        happens(world, operator, turn)
        for (const name of world.deployments.keys()) {
          const counts = operator.aggregate(`shop/${name}`)
          if (counts === undefined) throw new Error('a Deployment is not known')
          expect(PLACEMENT_PHASES.reduce((sum, phase) => sum + counts[phase], 0)).toBe(counts.matched)
        }
        const counted = contentions(world, operator)
        expect(counted).toEqual(contentions(world, world.operator()))
        const dirty = operator.takeDirtyDeployments()
        for (const [name, counts] of Object.entries(counted))
          if (!isDeepStrictEqual(counts, before[name])) expect(dirty).toContain(`shop/${name}`)
      })
      for (let pass = 0; pass < 4; pass += 1) world.store(operator)
      expect(operator.takeWrites()).toEqual([])
      for (const count of sharers(world).values()) expect(count).toBe(1)
      expect(contentions(world, operator)).toEqual(recounted(world, operator))
      // A restart knows the same, and writes nothing.
      const restarted = world.operator()
      for (const name of world.deployments.keys())
        expect(restarted.aggregate(`shop/${name}`)).toEqual(operator.aggregate(`shop/${name}`))
      expect(restarted.takeWrites()).toEqual([])
    }),
  )
})
