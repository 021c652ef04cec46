/**
 * The policy muster-rollout-steps names the settings by which a rollout goes on without an approval: no other one, in any mixture, does that.
 * So a setting that is added to the spec has to be thought of here.
 */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RolloutSpec } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { Rollout } from '#test/worlds/fleet/rollout.ts'

/** Some values of each setting, among them the most lenient one. */
const VALUES: { readonly [Setting in keyof RolloutSpec]-?: readonly RolloutSpec[Setting][] } = {
  strategy: ['AllAtOnce', 'Batches'],
  batches: [[{ limit: '100%' }], [{ limit: 3 }], undefined],
  approval: ['Automatic', 'Manual'],
  successThreshold: [1, 100],
  updateTimeout: ['1m', '48h'],
  soak: ['1h', undefined],
  offlineGrace: ['1m', '48h'],
  progressDeadline: ['1m', undefined],
  onFailure: ['Suspend', 'Rollback'],
  rollback: [{ strategy: 'Immediate' }, { strategy: 'Batches' }, undefined],
  disruptionBudget: [{ maxUnavailable: '100%' }, undefined],
  windows: [[{ schedule: '0 0 1 1 *', timeZone: 'UTC', duration: '1h' }], undefined],
  paused: [true, false],
}

/** The settings that the policy names: where approvals are asked for, there and of a suspended rollout, and of a suspended one. */
const [asked = [], both = [], suspended = []] = [
  ...readFileSync('kustomize/base/policies/rollout-steps.yaml', 'utf8').matchAll(/\? \[('[^\]]+')\] : \[\]/g),
].map(([, names = '']) => names.split(', ').map((name) => name.slice(1, -1)))

/** What the policy lets the author change of a rollout as it stands. */
const leftToAuthor = ({ spec, status }: Rollout, change: Partial<RolloutSpec>): Partial<RolloutSpec> => {
  const guarded = [
    ...(spec.approval === 'Manual' && spec.batches !== undefined ? [...asked, ...both] : []),
    ...(status?.phase === 'Suspended' ? [...both, ...suspended] : []),
  ]
  return Object.fromEntries(Object.entries(change).filter(([name]) => !guarded.includes(name)))
}

/** The rules of the schema: batches are of the strategy Batches alone, and so is going back in batches. */
const asStored = ({ rollback, batches, ...spec }: RolloutSpec): RolloutSpec => ({
  ...spec,
  strategy: batches === undefined ? 'AllAtOnce' : 'Batches',
  ...(batches !== undefined && { batches }),
  ...(rollback !== undefined && (rollback.strategy !== 'Batches' || batches !== undefined) && { rollback }),
})

const changes = fc.array(
  fc.record(
    Object.fromEntries(Object.entries(VALUES).map(([name, values]) => [name, fc.constantFrom<unknown>(...values)])),
    { requiredKeys: [] },
  ),
  { minLength: 1, maxLength: 4 },
)

const BATCHES: Partial<RolloutSpec> = { batches: [{ limit: 4 }, { limit: 2 }], disruptionBudget: { maxUnavailable: 2 } }

/** A batch of four, of which two have their turn at first. */
const begun = (spec: Partial<RolloutSpec>): { readonly rollout: Rollout; readonly had: readonly string[] } => {
  const rollout = new Rollout({ ...BATCHES, ...spec })
  return { rollout, had: rollout.run() }
}

const waiting = (): Rollout => {
  const { rollout, had } = begun({ approval: 'Manual' })
  rollout.succeed(...had)
  rollout.succeed(...rollout.run())
  expect([rollout.run(), rollout.stands]).toEqual([[], 'Waiting 1/3'])
  return rollout
}

const failed = (): Rollout => {
  const { rollout, had } = begun({})
  rollout.fail(...had.slice(0, 1))
  rollout.succeed(...had.slice(1))
  return rollout
}

const timedOut = (): Rollout => {
  const { rollout } = begun({})
  rollout.minutes = 11
  return rollout
}

const failedAndAway = (): Rollout => {
  const { rollout, had } = begun({ successThreshold: 30 })
  const [one = '', other = ''] = had
  rollout.fail(one)
  rollout.leave(other)
  const others = [...rollout.devices.keys()].filter((name) => !had.includes(name))
  rollout.leave(...others)
  rollout.minutes = 6
  return rollout
}

/** Two batches have it, of which the first one is to go back first. */
const wayBack = (): { readonly rollout: Rollout; readonly went: readonly string[] } => {
  const rollout = waiting()
  rollout.annotations = { 'fleet.nationtech.io/approve-batch': '2@2' }
  rollout.succeed(...rollout.run())
  rollout.run()
  rollout.goBack()
  return { rollout, went: rollout.run() }
}

const wayBackWaiting = (): Rollout => {
  const { rollout, went } = wayBack()
  rollout.succeed(...went)
  rollout.succeed(...rollout.run())
  return rollout
}

const wayBackFailed = (): Rollout => {
  const { rollout, went } = wayBack()
  rollout.fail(...went.slice(0, 1))
  rollout.succeed(...went.slice(1))
  rollout.spec = { ...rollout.spec, approval: 'Automatic' }
  return rollout
}

/** No further device gets anything, and the batch stays the one that has its turn. */
const staysWhereItIs = (make: () => Rollout, phase: string) =>
  fc.assert(
    fc.property(changes, (each) => {
      const rollout = make()
      rollout.run()
      expect(rollout.status?.phase).toBe(phase)
      const batch = rollout.status?.batch
      for (const change of each) {
        rollout.spec = asStored({ ...rollout.spec, ...leftToAuthor(rollout, change) })
        rollout.minutes += 2
        expect([rollout.run(), rollout.status?.batch, rollout.goBackTo]).toEqual([[], batch, undefined])
      }
    }),
    { numRuns: 300 },
  )

// FLEET-109
test('the policy names settings of the spec', () => {
  for (const names of [asked, both, suspended]) expect(names.length).toBeGreaterThan(0)
  expect(Object.keys(VALUES)).toEqual(expect.arrayContaining([...asked, ...both, ...suspended]))
})

// FLEET-109
test.each([
  ['is being rolled out', waiting],
  ['is taken back', wayBackWaiting],
])('what waits for an approval and %s goes on by no other setting', (_, make) => {
  staysWhereItIs(make, 'Waiting')
})

// FLEET-109
test.each([
  ['of failures', failed],
  ['of devices that take too long', timedOut],
  ['of a failure while others are away', failedAndAway],
  ['of failures on the way back', wayBackFailed],
])('what is suspended because %s goes on by no other setting', (_, make) => {
  staysWhereItIs(make, 'Suspended')
})
