/** How a revision is taken back. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RolloutSpec } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { Rollout, SPEC, STORES } from '#test/worlds/fleet/rollout.ts'
import type { DeviceView } from '../state/views.ts'
import type { RolloutDevice } from './member.ts'
import { isOpen as isOpenAt, planRollout } from './rollout-plan.ts'

const viewOf = ({ name, labels, joinedAt }: RolloutDevice, now: Date): DeviceView => ({
  name,
  labels,
  joinedAt,
  inventory: {},
  taints: [],
  at: now,
  version: '1',
  isPinned: false,
  holdReason: undefined,
  opens: undefined,
})

describe('going back', () => {
  const windows = [{ schedule: '0 2 * * *', timeZone: 'UTC', duration: '1h' as const }]
  const ALL = STORES.map(({ name }) => name)
  const rolledOut = (spec: Partial<RolloutSpec> = {}) => {
    const rollout = new Rollout({ ...spec, successThreshold: 100 })
    rollout.succeed(...ALL)
    rollout.run()
    rollout.goBack()
    return rollout
  }

  // FLEET-74
  test('Immediate comes to all at once, whatever the windows', () => {
    const rollout = rolledOut({ rollback: { strategy: 'Immediate' }, windows, approval: 'Manual' })
    expect([rollout.run(), rollout.stands]).toEqual([ALL.toSorted(), 'Active 1/1'])
  })

  // FLEET-74
  test('Immediate is what a rollout without batches does', () => {
    const { batches: _, ...spec } = SPEC
    const rollout = new Rollout()
    rollout.spec = { ...spec, strategy: 'AllAtOnce', windows }
    rollout.succeed(...ALL)
    rollout.run()
    rollout.goBack()
    expect(rollout.run()).toEqual(ALL.toSorted())
  })

  // FLEET-74
  test.for<RolloutSpec['rollback']>([undefined, { strategy: 'Batches' }])(
    'with batches it comes in those of the revision that is taken back, with soak and approval: %j',
    (rollback) => {
      const forth = new Rollout({ successThreshold: 100 })
      const went: string[][] = []
      while (forth.status?.phase !== 'Inactive') {
        went.push(forth.run())
        forth.succeed(...(went.at(-1) ?? []))
      }
      forth.goBack({ soak: '1h', approval: 'Manual', ...(rollback && { rollback }) })
      expect([forth.run(), forth.stands]).toEqual([went[0], 'Active 1/3'])
      forth.succeed('c1', 'c2')
      expect([forth.run(), forth.status?.message]).toEqual([[], 'batch 1 is good and soaks for 1h'])
      forth.minutes = 60
      expect([forth.run(), forth.status?.message]).toEqual([
        [],
        'batch 2 waits for approval: fleet.nationtech.io/approve-batch=2@3',
      ])
      forth.annotations = { 'fleet.nationtech.io/approve-batch': '2@3' }
      expect([forth.run(), forth.stands]).toEqual([went[1], 'Active 2/3'])
    },
  )

  // FLEET-74
  test('in batches waits for a window, but for a device that is down, which goes back at once', () => {
    const rollout = rolledOut({ windows })
    rollout.set(['d5'], { isHealthy: false, isDown: true })
    // It says nothing, so it may run.
    rollout.set(['d6'], { isHealthy: false })
    expect([rollout.run(), rollout.stands]).toEqual([['d5'], 'Waiting 1/3'])
    rollout.minutes = 120
    expect([rollout.run(), rollout.stands]).toEqual([['c1', 'c2'], 'Active 1/3'])
  })

  // FLEET-74
  test('in batches needs neither approval nor soak once all devices that had the revision are back', () => {
    const rollout = new Rollout({ approval: 'Manual', soak: '1h' })
    rollout.run()
    rollout.fail('c1')
    rollout.goBack()
    expect(rollout.run()).toEqual(['c1', 'c2'])
    rollout.succeed('c1', 'c2')
    rollout.run()
    expect(rollout.stands).toBe('Inactive 3/3')
  })

  // FLEET-74
  test('that is suspended, because the older workload failed, still takes along what goes down only then', () => {
    const rollout = rolledOut()
    rollout.run()
    rollout.fail('c1', 'c2')
    expect([rollout.run(), rollout.stands]).toEqual([[], 'Suspended 1/3'])
    rollout.set(['d5'], { isHealthy: false, isDown: true })
    rollout.set(['d6'], { isHealthy: false })
    const { input } = rollout
    const plan = planRollout({ ...input, stored: rollout.status, admitted: new Set(), isOpen: true })
    const admitted = input.members.filter(
      (one) => one.stage === 'Waiting' && plan.admits(viewOf(one, input.now), one.isDown),
    )
    expect(admitted.map(({ name }) => name)).toEqual(['d5'])
    expect([rollout.run(), rollout.stands]).toEqual([['d5'], 'Suspended 1/3'])
  })

  // FLEET-42, FLEET-74
  test('that is paused changes no device, be it down', () => {
    const rollout = rolledOut({ paused: true })
    rollout.set(['d5'], { isHealthy: false, isDown: true })
    expect([rollout.run(), rollout.stands]).toEqual([[], 'Paused 1/3'])
  })

  // FLEET-74
  test('a person who has no time writes Immediate while it is under way', () => {
    const rollout = rolledOut()
    expect(rollout.run()).toEqual(['c1', 'c2'])
    rollout.spec = { ...rollout.spec, rollback: { strategy: 'Immediate' } }
    expect(rollout.run()).toHaveLength(8)
  })

  // FLEET-74
  test('never interrupts more devices at once than the batch has, whatever devices do, and every replica says the same', () => {
    const name = fc.constantFrom(...ALL)
    const among = (stage: RolloutDevice['stage'], act: (rollout: Rollout, one: string) => void) =>
      name.map((one) => (rollout: Rollout) => {
        if (rollout.devices.get(one)?.stage === stage) act(rollout, one)
      })
    const event = fc.oneof(
      among('Working', (rollout, one) => rollout.succeed(one)),
      among('Working', (rollout, one) => rollout.fail(one)),
      among('Waiting', (rollout, one) => rollout.set([one], { isHealthy: false, isDown: true })),
      fc.constant((rollout: Rollout) => {
        rollout.minutes += 30
      }),
    )
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 60, size: 'max' }),
        fc.record({
          batches: fc.array(fc.record({ limit: fc.constantFrom(1, 3, '30%' as const) }), {
            minLength: 1,
            maxLength: 4,
          }),
          successThreshold: fc.constantFrom(50, 100),
        }),
        fc.boolean(),
        (events, spec, hasWindows) => {
          const rollout = new Rollout({ ...spec, updateTimeout: '1000h', ...(hasWindows && { windows }) })
          rollout.succeed(...ALL)
          rollout.run()
          rollout.goBack()
          const interrupted = new Set<string>()
          for (const happens of events) {
            happens(rollout)
            const before = new Map(rollout.devices)
            const changed = rollout.run()
            const { status } = rollout
            if (status === undefined) throw new Error('it has not begun')
            const isOpen = isOpenAt(rollout.input, rollout.input.now)
            const plan = planRollout({ ...rollout.input, stored: status, admitted: new Set(), isOpen })
            for (const one of before.values()) {
              const { isDown } = one
              if (one.stage !== 'Waiting') continue
              expect([one.name, plan.admits(viewOf(one, rollout.input.now), isDown)]).toEqual([
                one.name,
                changed.includes(one.name),
              ])
              if (!changed.includes(one.name)) continue
              if (!isDown) interrupted.add(one.name)
              expect(isDown || isOpen).toBe(true)
            }
            const working = [...interrupted].filter((one) => rollout.devices.get(one)?.stage === 'Working')
            expect(working.length).toBeLessThanOrEqual(status.batches[status.batch - 1]?.size ?? 0)
          }
        },
      ),
      // Schedules of windows are what takes its time.
      { numRuns: 40 },
    )
  })
})
