/** Entries and states that a thief of the fleet's key of NATS wrote, as an operator with keys that signs takes them. */
import { describe, expect, test } from 'vitest'
import { type Desired, desiredCodec, type State, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { newSigningKey, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { CREATED, deploymentOf, deviceOf, scoreOf } from '#test/worlds/fleet/builders.ts'
import { findOrBuildRevision, type Revision } from '../rollout/revisions.ts'
import { FleetState } from './fleet-state.ts'
import { deploymentView, type RolloutPlan } from './views.ts'

const newKey = () => readSigningKeys(newSigningKey())

const [ours, next] = [newKey(), newKey()]
const KEY = 'a.shop.web'
const LATER_RELEASE = Buffer.from('{"schema":2,"generation":1,"digest":"sha256:00","payload":{}}')
const HELD: RolloutPlan = { admits: () => false }

/** Revisions with these workloads, the first one first. */
const historyOf = (words: readonly string[]): readonly Revision[] =>
  words.map((word, index) => ({
    ...findOrBuildRevision([], { generation: index + 1, score: scoreOf(word) }, undefined).revision,
    revision: index + 1,
  }))

const history = historyOf(['first', 'second', 'third'])
const web = (more: Parameters<typeof deploymentOf>[1] = {}) => deploymentOf('web', { command: 'third', ...more })
const viewOf = (plan?: RolloutPlan, deployment: Deployment = web(), all = history) =>
  deploymentView(deployment, all.at(-1) as Revision, all, plan)

const encoded = (revision: number, more: Partial<Desired> = {}, generation = revision): Uint8Array =>
  desiredCodec.encode(
    {
      owner: { uid: 'uid-of-web', created: CREATED },
      revision,
      score: history.find((one) => one.revision === revision)?.score ?? scoreOf('planted'),
      ...more,
    },
    generation,
  )

const signed = (bytes: Uint8Array, revision: number, keys = ours, key = KEY) => ({
  key,
  bytes,
  revision,
  signature: new FleetState(keys).signer.sign(key, bytes),
})

const stateOf = (more: Partial<State>) =>
  stateCodec.encode({ phase: 'Running', uid: 'uid-of-web', revision: 1, at: CREATED, ...more }, 1)

/** It has read all that is there before `seen`. */
const operatorOf = (
  view = viewOf(),
  device = deviceOf('a'),
  seeded: Parameters<FleetState['seed']>[0] = [],
): FleetState => {
  const operator = new FleetState(ours)
  operator.seed(seeded)
  operator.deploymentSeen(view)
  operator.deviceSeen(device)
  return operator
}

/** What it writes at once, and what after the two intervals for which a dispute waits. */
const writesOf = (operator: FleetState) => {
  const texts = () =>
    operator.takeWrites().map((write) => (write.kind === 'Put' ? Buffer.from(write.bytes).toString() : 'deleted'))
  const atOnce = texts()
  operator.retryWaiting()
  const between = texts()
  operator.retryWaiting()
  return { atOnce, between, atLast: texts() }
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()
const NEVER = { atOnce: [], between: [], atLast: [] }

const TWO = 'a.shop.two'
const ofTwo = encoded(1, { owner: { uid: 'uid-of-two', created: CREATED }, score: scoreOf('two') })

/** Two Deployments that name one slot of a device; the second one is before the first, when its turn has come. */
const sharing = (more: {
  isOneHeld?: true
  isTwoHeld?: true
  seeded?: Parameters<FleetState['seed']>[0]
}): FleetState => {
  const one = web({ spec: { slot: 'main' } })
  const two = deploymentOf('two', { spec: { slot: 'main', priority: more.isOneHeld ? -9 : 9 } })
  const operator = new FleetState(ours)
  operator.seed(more.seeded ?? [])
  operator.deploymentSeen(viewOf(more.isOneHeld && HELD, one))
  const [first] = historyOf(['two'])
  if (first !== undefined) operator.deploymentSeen(deploymentView(two, first, [first], more.isTwoHeld && HELD))
  operator.deviceSeen(deviceOf('a'))
  return operator
}

const planted: readonly (readonly [string, Uint8Array])[] = [
  ['a Deployment made later', encoded(1, { owner: { uid: 'thief', created: '9999-01-01T00:00:00Z' } })],
  ['a later release', LATER_RELEASE],
  ['a later revision', encoded(999_999_999)],
]

// FLEET-106
describe('an entry that no key of the operator has signed', () => {
  test.for(planted)('attack: of %s is written over, after it could be that this one’s watch is behind', ([, bytes]) => {
    for (const isSeeded of [true, false]) {
      const found = { key: KEY, bytes, revision: 7 }
      const operator = operatorOf(undefined, undefined, isSeeded ? [found] : [])
      operator.takeWrites()
      operator.desiredSeen(found)
      operator.deviceSeen(deviceOf('a'))
      expect(writesOf(operator)).toEqual({ atOnce: [], between: [], atLast: [text(encoded(3))] })
      expect(operator.countLaterEntries('shop/web')).toBe(0)
      expect(operator.aggregate('shop/web')).toMatchObject({ matched: 1, held: 0 })
    }
  })

  test('attack: of the same workload, filled in with a later Device, is written over', () => {
    const score = { ...scoreOf('{{ .device.name }}'), templated: true } as const
    const { revision: templated } = findOrBuildRevision([], { generation: 1, score }, undefined)
    const view = viewOf(undefined, web({ spec: { score } }), [templated])
    const device = deviceOf('a', {}, false, { version: '5' })
    const wanted = view.encodeDesired(view.target, device) as Uint8Array
    const { payload } = desiredCodec.decode(wanted)
    const filled = { digest: payload.filled?.digest ?? '', device: '9'.repeat(30) }
    for (const score of [payload.score, scoreOf('planted')]) {
      const operator = operatorOf(view, device)
      operator.takeWrites()
      operator.desiredSeen({ key: KEY, bytes: desiredCodec.encode({ ...payload, score, filled }, 1), revision: 7 })
      expect(writesOf(operator).atLast).toEqual([text(wanted)])
    }
  })

  test('attack: with another workload under a number that is known is written over at once: no person is asked', () => {
    const operator = operatorOf()
    operator.takeWrites()
    operator.desiredSeen({ key: KEY, bytes: encoded(3, { score: scoreOf('planted') }), revision: 7 })
    expect(writesOf(operator).atOnce).toEqual([text(encoded(3))])
  })

  test('attack: with a later number, which the device that refuses it repeats, asks no person', () => {
    const operator = operatorOf()
    operator.takeWrites()
    operator.stateSeen({ key: KEY, revision: 1, bytes: stateOf({ phase: 'Failed', revision: 9, unverified: true }) })
    operator.desiredSeen({ key: KEY, bytes: encoded(9), revision: 7 })
    expect(writesOf(operator).atLast).toEqual([text(encoded(3))])
    // What a device says to have, a person decides, as after the cluster was restored from a backup.
    operator.stateSeen({ key: KEY, revision: 2, bytes: stateOf({ revision: 9 }) })
    operator.desiredSeen({ key: KEY, bytes: encoded(9), revision: 8 })
    expect(writesOf(operator)).toEqual(NEVER)
  })

  test('of an operator that signs nothing and knows more, is signed as it is once this one’s watch has come up', () => {
    const operator = operatorOf(viewOf(undefined, web(), history.slice(0, 2)))
    operator.takeWrites()
    operator.desiredSeen(signed(encoded(2), 6))
    operator.desiredSeen({ key: KEY, bytes: encoded(3), revision: 7 })
    expect(operator.takeWrites()).toEqual([])
    operator.retryWaiting()
    operator.deploymentSeen(viewOf())
    expect(writesOf(operator)).toEqual({ atOnce: [text(encoded(3))], between: [], atLast: [] })
  })

  test('is written over by two that disagree once in two intervals, and no more often', () => {
    const operator = operatorOf()
    for (const revision of [7, 8, 9]) {
      operator.takeWrites()
      operator.desiredSeen({ key: KEY, bytes: encoded(4), revision })
      expect(writesOf(operator)).toEqual({ atOnce: [], between: [], atLast: [text(encoded(3))] })
      operator.desiredSeen(signed(encoded(3), revision + 0.5))
      expect(writesOf(operator)).toEqual(NEVER)
    }
  })

  test('attack: is planted anew before it has waited, and is written over all the same', () => {
    const operator = operatorOf()
    for (const revision of [7, 8, 9]) {
      operator.takeWrites()
      operator.desiredSeen({ key: KEY, bytes: encoded(9), revision })
      operator.takeWrites()
      operator.retryWaiting()
    }
    const writes = operator.takeWrites()
    expect(writes).toMatchObject([{ kind: 'Put', key: KEY, revision: 9 }])
    // Another wrote in between, so the store did not take it: it does not wait again.
    operator.desiredSeen({ key: KEY, bytes: encoded(9), revision: 10 })
    expect(operator.takeWrites()).toMatchObject([{ kind: 'Put', key: KEY, revision: 10 }])
    // Once it stood there, the next one waits.
    operator.desiredSeen(signed(encoded(3), 11))
    operator.desiredSeen({ key: KEY, bytes: encoded(9), revision: 12 })
    expect(writesOf(operator)).toEqual({ atOnce: [], between: [], atLast: [text(encoded(3))] })
  })

  test('attack: of a Deployment made later does not stay when a person deletes the one that is there', () => {
    const operator = operatorOf()
    operator.takeWrites()
    operator.desiredSeen(signed(encoded(3), 6))
    operator.desiredSeen({ key: KEY, bytes: planted[0]?.[1], revision: 7 })
    operator.deploymentDeleted('shop/web', 'uid-of-web')
    expect(writesOf(operator)).toEqual({ atOnce: [], between: [], atLast: ['deleted'] })
    expect(operator.unneededKeys()).toEqual([])
  })

  test.for(planted)('but by none that is signed: of %s by an operator with this key, it is that one’s', ([, bytes]) => {
    const operator = operatorOf(undefined, undefined, [signed(bytes, 7)])
    expect(writesOf(operator)).toEqual(NEVER)
    const exchanging = operatorOf()
    exchanging.useSigningKeys([...ours, ...next])
    exchanging.takeWrites()
    exchanging.desiredSeen(signed(bytes, 7, next))
    expect(writesOf(exchanging)).toEqual(NEVER)
    // That key is a thief's from now on.
    exchanging.useSigningKeys(ours)
    expect(writesOf(exchanging).atLast).toEqual([text(encoded(3))])
  })

  test.for([true, false])(
    'attack: of what is rolled out, under the key of a device whose turn has not come, is not signed (found at the start: %s)',
    (isSeeded) => {
      const found = { key: KEY, bytes: encoded(3), revision: 7 }
      for (const [view, device] of [
        [viewOf({ ...HELD, from: 2 }), deviceOf('a')],
        [viewOf(), deviceOf('a', {}, true)],
      ] as const) {
        const operator = operatorOf(view, device, isSeeded ? [found] : [])
        if (!isSeeded) operator.takeWrites()
        operator.desiredSeen(found)
        expect(writesOf(operator)).toEqual(NEVER)
      }
    },
  )

  test('attack: takes no slot from the Deployment that has it', () => {
    const operator = sharing({ isTwoHeld: true })
    operator.takeWrites()
    operator.desiredSeen(signed(encoded(3), 6))
    operator.desiredSeen({ key: TWO, bytes: ofTwo, revision: 7 })
    expect(writesOf(operator)).toEqual(NEVER)
  })

  test('attack: found at the start takes no slot once the device has refused it', () => {
    const operator = sharing({
      isTwoHeld: true,
      seeded: [signed(encoded(3), 5), { key: TWO, bytes: ofTwo, revision: 6 }],
    })
    operator.stateSeen({
      key: TWO,
      revision: 1,
      bytes: stateOf({ phase: 'Failed', uid: 'uid-of-two', unverified: true }),
    })
    expect(writesOf(operator)).toEqual(NEVER)
  })

  test('keeps the slot of a held device, where an operator that signed nothing may have written it', () => {
    const operator = sharing({ isOneHeld: true, seeded: [{ key: KEY, bytes: encoded(2), revision: 5 }] })
    expect(operator.takeWrites()).toEqual([])
    expect(operator.unneededKeys()).toEqual([])
  })

  test('attack: of a later release is no reason to leave the key of a Deployment that is gone', () => {
    const operator = operatorOf(viewOf(), deviceOf('a'), [{ key: TWO, bytes: LATER_RELEASE, revision: 5 }])
    operator.takeWrites()
    expect(operator.unneededKeys()).toMatchObject([{ key: TWO, reason: 'DeploymentGone' }])
  })

  test('attack: for a device of which the selection is not known has nothing signed, also when the device refuses it', () => {
    const unknown = web({
      spec: { targetExpression: 'device.inventory.missing == "x"' } as Partial<Deployment['spec']>,
    })
    const operator = operatorOf(viewOf({ admits: () => true, from: 2 }, unknown))
    operator.desiredSeen({ key: KEY, bytes: encoded(2), revision: 7 })
    operator.stateSeen({ key: KEY, revision: 1, bytes: stateOf({ phase: 'Failed', revision: 2, unverified: true }) })
    expect(writesOf(operator)).toEqual(NEVER)
  })
})

// FLEET-107
describe('what a held device keeps', () => {
  const pinned = deviceOf('a', {}, true)
  /** It read that a device has the second revision, and then what is rolled out since. */
  const knowing = () => operatorOf(viewOf(HELD), pinned, [signed(encoded(2), 5)])

  test.for<[string, Partial<State>]>([
    ['an older revision', { revision: 1 }],
    ['what is rolled out', { revision: 3 }],
  ])('attack: a device without an entry says that it has %s: nothing is signed', ([, state]) => {
    for (const from of [undefined, 2]) {
      const plan = { ...HELD, ...(from !== undefined && { from }) }
      for (const device of [deviceOf('a'), pinned]) {
        const operator = operatorOf(viewOf(plan))
        operator.deviceSeen(device)
        operator.stateSeen({ key: KEY, revision: 1, bytes: stateOf(state) })
        expect(writesOf(operator)).toEqual(NEVER)
      }
    }
  })

  test('is what the rollout keeps for those whose turn has not come, where the device says nothing else', () => {
    const operator = operatorOf(viewOf({ ...HELD, from: 2 }))
    operator.stateSeen({ key: KEY, revision: 1, bytes: stateOf({ revision: 2 }) })
    expect(writesOf(operator).atOnce).toEqual([text(encoded(2))])
    expect(writesOf(operatorOf(viewOf({ ...HELD, from: 2 }))).atOnce).toEqual([text(encoded(2))])
  })

  test('comes back after a deletion, whatever a state says', () => {
    const operator = knowing()
    expect(operator.takeWrites()).toEqual([])
    operator.stateSeen({ key: KEY, revision: 1, bytes: stateOf({ revision: 1 }) })
    operator.desiredSeen({ key: KEY, bytes: undefined, revision: 6 })
    expect(writesOf(operator).atOnce).toEqual([text(encoded(2))])
  })

  test('comes back after the store was made anew', () => {
    const operator = knowing()
    operator.bucketRecreated('desired')
    operator.bucketRecreated('state')
    expect(writesOf(operator).atOnce).toEqual([text(encoded(2))])
  })

  test.for([...planted, ['an older revision', encoded(1)] as const, ['what is rolled out', encoded(3)] as const])(
    'attack: comes back when an entry of %s was put in its place',
    ([, bytes]) => {
      const operator = knowing()
      operator.takeWrites()
      operator.desiredSeen({ key: KEY, bytes, revision: 6 })
      const { atOnce, atLast } = writesOf(operator)
      expect([...atOnce, ...atLast]).toEqual([text(encoded(2))])
    },
  )

  test('attack: an older entry that the operator once signed is put in its place, and deleted: the later one comes back', () => {
    const operator = knowing()
    operator.desiredSeen(signed(encoded(1), 6))
    operator.desiredSeen({ key: KEY, bytes: undefined, revision: 7 })
    expect(writesOf(operator).atOnce).toEqual([text(encoded(2))])
  })

  test('attack: an older entry that the operator once signed is put in its place: the later one comes back', () => {
    const operator = knowing()
    operator.takeWrites()
    operator.desiredSeen(signed(encoded(1), 6))
    expect(writesOf(operator).atOnce).toEqual([text(encoded(2))])
  })

  test('attack: an older entry with the workload that is rolled out is put in its place: the number of now comes back', () => {
    const all = historyOf(['first', 'second', 'first'])
    const view = viewOf(undefined, web({ command: 'first' }), all)
    const operator = operatorOf(view)
    const now = view.encodeDesired(view.target, deviceOf('a')) as Uint8Array
    operator.takeWrites()
    operator.desiredSeen(signed(now, 6))
    operator.desiredSeen(signed(encoded(1), 7))
    expect(writesOf(operator).atOnce).toEqual([text(now)])
  })

  test('attack: what a stolen key signed while keys are exchanged is not signed by the next one', () => {
    const bytes = encoded(2, { score: scoreOf('planted') })
    const operator = operatorOf(viewOf(HELD), pinned, [signed(bytes, 5)])
    operator.useSigningKeys([...ours, ...next])
    operator.desiredSeen({ key: KEY, bytes: undefined, revision: 6 })
    expect(writesOf(operator)).toEqual(NEVER)
  })

  test('keeps its slot while its entry is gone', () => {
    const operator = sharing({ isOneHeld: true, seeded: [signed(encoded(2), 5)] })
    operator.desiredSeen({ key: KEY, bytes: undefined, revision: 6 })
    expect(writesOf(operator)).toEqual({ atOnce: [text(encoded(2))], between: [], atLast: [] })
  })

  test('is forgotten when the operator deletes it, because another Deployment has its slot', () => {
    const operator = sharing({ seeded: [signed(encoded(2), 5)] })
    expect(writesOf(operator).atOnce).toContain('deleted')
    operator.desiredSeen({ key: KEY, bytes: undefined, revision: 6 })
    operator.deploymentSeen(viewOf(HELD, web({ spec: { slot: 'main' } })))
    operator.deploymentDeleted('shop/two', 'uid-of-two')
    expect(writesOf(operator)).toEqual(NEVER)
  })

  test('is forgotten when the Deployment selects the device no more', () => {
    const operator = knowing()
    operator.stateSeen({ key: KEY, revision: 1, bytes: stateOf({ revision: 2 }) })
    operator.deploymentSeen(viewOf(HELD, web({ selector: { matchLabels: { region: 'eu' } } })))
    operator.desiredSeen({ key: KEY, bytes: undefined, revision: 6 })
    operator.deploymentSeen(viewOf(HELD))
    expect(writesOf(operator)).toEqual(NEVER)
  })

  test('without a signature it stays as it is, where an operator that signed nothing may have written it', () => {
    const found = { key: KEY, bytes: encoded(1), revision: 5 }
    const operator = operatorOf(viewOf({ ...HELD, from: 2 }), pinned, [found])
    expect(writesOf(operator)).toEqual(NEVER)
    operator.stateSeen({ key: KEY, revision: 1, bytes: stateOf({ phase: 'Failed', revision: 1, unverified: true }) })
    expect(writesOf(operator).atOnce).toEqual([text(encoded(2))])
  })
})
