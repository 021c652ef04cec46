import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RolloutSpec, RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { memberOf, Rollout, SPEC, STORES } from '#test/worlds/fleet/rollout.ts'
import { admittedDevices } from './advance.ts'
import { parseControls } from './annotations.ts'

describe('batches', () => {
  // FLEET-37
  test('go one after the other, each when the one before has succeeded, and the rest comes last', () => {
    const rollout = new Rollout()
    expect([rollout.run(), rollout.stands]).toEqual([['c1', 'c2'], 'Active 1/3'])
    expect(rollout.run()).toEqual([])
    rollout.succeed('c1', 'c2')
    const half = rollout.run()
    expect([half.length, rollout.stands]).toEqual([5, 'Active 2/3'])
    rollout.succeed(...half)
    const rest = rollout.run()
    expect([rest.length, rollout.stands]).toEqual([3, 'Active 3/3'])
    rollout.succeed(...rest)
    rollout.run()
    expect(rollout.stands).toBe('Inactive 3/3')
    expect([...half, ...rest].toSorted()).toEqual(['d1', 'd2', 'd3', 'd4', 'd5', 'd6', 'd7', 'd8'])
  })

  test('AllAtOnce is one batch of all', () => {
    const { batches: _, ...spec } = SPEC
    const rollout = new Rollout()
    rollout.spec = { ...spec, strategy: 'AllAtOnce' }
    expect([rollout.run().length, rollout.stands]).toEqual([10, 'Active 1/1'])
  })

  // FLEET-23
  test('restart_mid_rollout_resumes_same_batch: nothing but the status and the devices is needed', () => {
    const rollout = new Rollout()
    rollout.run()
    rollout.succeed('c1', 'c2')
    const half = rollout.run()
    const restarted = new Rollout({}, [...rollout.devices.values()])
    restarted.status = rollout.status
    expect([restarted.run(), restarted.stands]).toEqual([[], 'Active 2/3'])
    // Were the batches drawn anew, others would be in it.
    restarted.succeed(...half)
    expect(restarted.run()).toHaveLength(3)
  })

  // FLEET-37
  test('who joins while the rollout is under way comes last, and changes no count', () => {
    const rollout = new Rollout()
    rollout.run()
    const late = { ...memberOf('late', { ring: 'canary' }), joinedAt: rollout.input.now.getTime() + 1 }
    rollout.devices.set('late', late)
    rollout.succeed('c1', 'c2')
    expect(rollout.run()).not.toContain('late')
    expect(rollout.stands).toBe('Active 2/3')
  })

  test('other batches in the spec begin anew; devices that have the revision keep it', () => {
    const rollout = new Rollout()
    rollout.run()
    rollout.spec = { ...rollout.spec, batches: [{ limit: 1 }] }
    rollout.run()
    expect(rollout.stands).toBe('Active 1/2')
    expect(admittedDevices(rollout.input, rollout.status as RolloutStatus)).toEqual(
      expect.objectContaining({ size: 3 }),
    )
  })
})

describe('a batch that fails', () => {
  // FLEET-39
  test('batch_fails_below_threshold_suspends, as soon as it can’t succeed any more', () => {
    const rollout = new Rollout()
    rollout.run()
    rollout.fail('c1')
    expect([rollout.run(), rollout.stands]).toEqual([[], 'Suspended 1/3'])
    expect(rollout.status?.message).toBe('1 of 2 devices of batch 1 failed, so fewer than the required 90% can succeed')
  })

  test('goes on when it is good again', () => {
    const rollout = new Rollout()
    rollout.run()
    rollout.fail('c1')
    rollout.run()
    rollout.succeed('c1', 'c2')
    rollout.run()
    expect(rollout.stands).toBe('Active 2/3')
  })

  // FLEET-39
  test('goes on when a person says so, and once only', () => {
    const rollout = new Rollout({ batches: [{ selector: { matchLabels: { ring: 'canary' } } }, { limit: 1 }] })
    rollout.run()
    rollout.fail('c1')
    rollout.run()
    rollout.annotations = { 'fleet.nationtech.io/resume': 'it was the network' }
    const [next = ''] = rollout.run()
    expect(rollout.stands).toBe('Active 2/3')
    rollout.fail(next)
    rollout.run()
    expect(rollout.stands).toBe('Suspended 2/3')
  })

  test('what a person said before it failed was not about it: a new text goes on', () => {
    const rollout = new Rollout()
    rollout.annotations = { 'fleet.nationtech.io/resume': 'from the last time' }
    rollout.run()
    rollout.fail('c1')
    rollout.run()
    expect([rollout.run(), rollout.stands]).toEqual([[], 'Suspended 1/3'])
    rollout.annotations = { 'fleet.nationtech.io/resume': 'now' }
    rollout.run()
    expect(rollout.stands).toBe('Active 2/3')
  })

  // FLEET-43
  test('a device that takes longer than updateTimeout has failed', () => {
    const rollout = new Rollout()
    rollout.run()
    rollout.succeed('c1')
    rollout.minutes = 9
    rollout.run()
    expect(rollout.stands).toBe('Active 1/3')
    rollout.minutes = 10
    rollout.run()
    expect(rollout.status?.message).toContain('1 failed, 1 of them by taking too long')
  })

  // FLEET-40
  test('failed_canary_rolls_back when the spec says so', () => {
    const rollout = new Rollout({ onFailure: 'Rollback' })
    rollout.run()
    expect(rollout.goBackTo).toBeUndefined()
    rollout.fail('c1')
    expect([rollout.run(), rollout.goBackTo]).toEqual([[], 1])
  })

  // FLEET-74
  test('a revision that goes back is not taken back itself', () => {
    const rollout = new Rollout({ onFailure: 'Rollback' })
    rollout.goBack()
    rollout.fail('c1')
    rollout.run()
    expect([rollout.goBackTo, rollout.stands]).toEqual([undefined, 'Suspended 1/3'])
  })
})

describe('people steer', () => {
  // FLEET-41
  test('manual_approval_waits, batch by batch, and an approval of an older revision is none', () => {
    const rollout = new Rollout({ approval: 'Manual' })
    rollout.run()
    rollout.succeed('c1', 'c2')
    expect([rollout.run(), rollout.stands]).toEqual([[], 'Waiting 1/3'])
    rollout.annotations = { 'fleet.nationtech.io/approve-batch': '2@1' }
    expect([rollout.run(), rollout.stands]).toEqual([[], 'Waiting 1/3'])
    rollout.annotations = { 'fleet.nationtech.io/approve-batch': '2@2' }
    const half = rollout.run()
    expect([half.length, rollout.stands]).toEqual([5, 'Active 2/3'])
    rollout.succeed(...half)
    rollout.run()
    expect(rollout.stands).toBe('Waiting 2/3')
  })

  // FLEET-41
  test('what was approved of batches that were drawn anew is not approved of the new ones', () => {
    const rollout = new Rollout({ approval: 'Manual' })
    rollout.run()
    rollout.succeed('c1', 'c2')
    rollout.run()
    rollout.annotations = { 'fleet.nationtech.io/approve-batch': '3@2' }
    rollout.spec = { ...rollout.spec, batches: [{ selector: { matchLabels: { ring: 'canary' } } }, { limit: '100%' }] }
    expect([rollout.run(), rollout.stands]).toEqual([[], 'Waiting 1/3'])
    expect(rollout.status?.message).toBe('batch 2 waits for approval: fleet.nationtech.io/approve-batch=2@2.2')
    rollout.annotations = { 'fleet.nationtech.io/approve-batch': '2@2.2' }
    expect([rollout.run().length, rollout.stands]).toEqual([8, 'Active 2/3'])
    // The batches of before are drawn the third time: their approval was not about these.
    rollout.spec = { ...rollout.spec, batches: SPEC.batches ?? [] }
    rollout.annotations = { 'fleet.nationtech.io/approve-batch': '3@2' }
    rollout.run()
    expect(rollout.status?.message).toBe('batch 2 waits for approval: fleet.nationtech.io/approve-batch=2@2.3')
  })

  test('once all batches have come, other batches in the spec ask no person again for what was approved', () => {
    const rollout = new Rollout({ approval: 'Manual' })
    rollout.annotations = { 'fleet.nationtech.io/approve-batch': '3@2' }
    const all = [...rollout.devices.keys()]
    rollout.succeed(...all)
    rollout.run()
    expect(rollout.stands).toBe('Inactive 3/3')
    rollout.spec = { ...rollout.spec, batches: [{ limit: 1 }] }
    rollout.run()
    expect(rollout.stands).toBe('Inactive 2/2')
  })

  test.for(['yes', '2', '2@', '0@1', '2@5@1', '2@5.', '2@5.0'])(
    'the approval %s is refused with what to write',
    (value) => {
      expect(() => parseControls({ 'fleet.nationtech.io/approve-batch': value })).toThrow(
        `the annotation fleet.nationtech.io/approve-batch is "${value}": write the batch and the revision, such as 2@5 for`,
      )
    },
  )

  // FLEET-42
  test('paused gives to no device, and goes on where it was', () => {
    const rollout = new Rollout()
    rollout.run()
    rollout.succeed('c1', 'c2')
    rollout.spec = { ...rollout.spec, paused: true }
    expect([rollout.run(), rollout.stands]).toEqual([[], 'Paused 1/3'])
    rollout.spec = { ...rollout.spec, paused: false }
    expect([rollout.run().length, rollout.stands]).toEqual([5, 'Active 2/3'])
  })

  // FLEET-40
  test('abort_restores_previous_revision, and only the one that it names', () => {
    const rollout = new Rollout()
    rollout.annotations = { 'fleet.nationtech.io/abort-revision': '1' }
    rollout.run()
    expect(rollout.goBackTo).toBeUndefined()
    rollout.annotations = { 'fleet.nationtech.io/abort-revision': '2' }
    rollout.run()
    expect(rollout.goBackTo).toBe(1)
  })
})

describe('time', () => {
  // FLEET-44
  test('a batch soaks, and a failure meanwhile ends the soak', () => {
    const rollout = new Rollout({ soak: '1h' })
    rollout.run()
    rollout.succeed('c1', 'c2')
    rollout.run()
    rollout.minutes = 59
    rollout.run()
    expect(rollout.stands).toBe('Active 1/3')
    rollout.fail('c1')
    rollout.run()
    rollout.succeed('c1')
    rollout.minutes = 61
    rollout.run()
    expect(rollout.stands).toBe('Active 1/3')
    rollout.minutes = 121
    rollout.run()
    expect(rollout.stands).toBe('Active 2/3')
  })

  // FLEET-44
  test('a batch beyond progressDeadline is late, and goes on', () => {
    const rollout = new Rollout({ progressDeadline: '5m' })
    rollout.run()
    expect(rollout.isLate).toBe(false)
    rollout.minutes = 5
    rollout.run()
    expect([rollout.isLate, rollout.stands]).toEqual([true, 'Active 1/3'])
  })
})

describe('windows', () => {
  // The clock of these tests begins at midnight.
  const windows = [{ schedule: '0 2 * * *', timeZone: 'UTC', duration: '1h' as const }]

  // FLEET-45
  test('window_closed_writes_nothing: no device gets the change until one opens, and one that has it by then goes on', () => {
    const rollout = new Rollout({ windows })
    expect([rollout.run(), rollout.stands, rollout.status?.message]).toEqual([
      [],
      'Waiting 1/3',
      'the next window opens at 2026-01-01T02:00:00.000Z',
    ])
    rollout.minutes = 120
    expect([rollout.run(), rollout.stands]).toEqual([['c1', 'c2'], 'Active 1/3'])
    rollout.minutes = 180
    rollout.succeed('c1', 'c2')
    expect([rollout.run(), rollout.stands]).toEqual([[], 'Waiting 2/3'])
    rollout.minutes = 26 * 60
    expect(rollout.run()).toHaveLength(5)
  })

  test('progressDeadline is counted while one is open', () => {
    const rollout = new Rollout({ windows, progressDeadline: '5m' })
    for (const [minutes, isLate] of [
      [0, false],
      [60, false],
      [124, false],
      [125, true],
      [181, false],
    ] as const) {
      rollout.minutes = minutes
      rollout.run()
      expect([minutes, rollout.isLate]).toEqual([minutes, isLate])
    }
  })
})

describe('held devices', () => {
  // FLEET-60
  test('don’t count, and a batch of no other devices is no success', () => {
    const rollout = new Rollout()
    rollout.set(['c1'], { isHeld: true })
    rollout.run()
    rollout.succeed('c2')
    rollout.set(['c2'], { isHeld: true, stage: 'Waiting' })
    rollout.run()
    expect([rollout.stands, rollout.status?.message]).toEqual(['Active 1/3', 'all 2 devices of the batch are held'])
    rollout.set(['c2'], { isHeld: false, stage: 'Succeeded' })
    rollout.run()
    expect(rollout.stands).toBe('Active 2/3')
  })

  // FLEET-60
  test('behind the last batch nothing waits for them', () => {
    const rollout = new Rollout({ batches: [{ limit: '100%' }] }, [{ ...memberOf('p'), isHeld: true }, memberOf('d')])
    expect(rollout.run()).toEqual(['d'])
    rollout.succeed('d')
    rollout.run()
    expect(rollout.stands).toBe('Inactive 2/2')
  })
})

describe('offline devices', () => {
  // FLEET-43
  test('offline_device_does_not_block_batch, once the grace is over', () => {
    const rollout = new Rollout()
    rollout.run()
    rollout.succeed('c1')
    rollout.leave('c2')
    rollout.run()
    expect(rollout.stands).toBe('Active 1/3')
    rollout.minutes = 5
    rollout.run()
    expect(rollout.stands).toBe('Active 2/3')
  })

  test('a batch that is offline as a whole is no success', () => {
    const rollout = new Rollout()
    rollout.leave('c1', 'c2')
    rollout.run()
    rollout.minutes = 600
    rollout.run()
    expect([rollout.stands, rollout.status?.message]).toEqual(['Active 1/3', 'all 2 devices of the batch are offline'])
  })

  test('who is back later gets the revision without opening its batch again', () => {
    const rollout = new Rollout({ disruptionBudget: { maxUnavailable: 5 } })
    rollout.leave('c2')
    expect(rollout.run()).toEqual(['c1'])
    rollout.succeed('c1')
    rollout.minutes = 5
    rollout.run()
    rollout.set(['c2'], { isAlive: true, offlineSince: undefined })
    expect([rollout.run().includes('c2'), rollout.stands]).toEqual([true, 'Active 2/3'])
  })
})

// FLEET-47
test('never_more_than_k_updating_per_store, whatever devices do', () => {
  const name = fc.constantFrom(...STORES.map((one) => one.name))
  const event = fc.oneof(
    name.map((one) => (rollout: Rollout) => {
      if (rollout.devices.get(one)?.stage === 'Working') rollout.succeed(one)
    }),
    name.map((one) => (rollout: Rollout) => {
      if (rollout.devices.get(one)?.stage === 'Working') rollout.fail(one)
    }),
    fc.constant((rollout: Rollout) => void rollout.run()),
  )
  const budgets = fc.constantFrom<NonNullable<RolloutSpec['disruptionBudget']>['maxUnavailable']>(1, 2, '50%')
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60, size: 'max' }), budgets, (events, maxUnavailable) => {
      const rollout = new Rollout({
        batches: [{ limit: '100%' }],
        successThreshold: 1,
        disruptionBudget: { groupBy: ['store'], maxUnavailable },
      })
      for (const happens of events) {
        happens(rollout)
        for (const store of ['s1', 's2']) {
          const group = [...rollout.devices.values()].filter(({ labels }) => labels.store === store)
          const most = maxUnavailable === '50%' ? Math.floor(group.length / 2) : Number(maxUnavailable)
          expect(group.filter(({ isHealthy }) => !isHealthy).length).toBeLessThanOrEqual(most)
        }
      }
    }),
  )
})

// FLEET-76
test('with lost reports, of which nothing is known but that devices are unavailable, the budget lets none of them change', () => {
  const rollout = new Rollout({
    batches: [{ limit: '100%' }],
    disruptionBudget: { groupBy: ['store'], maxUnavailable: 1 },
  })
  const all = [...rollout.devices.keys()]
  rollout.set(all, { isHealthy: false })
  expect(rollout.run()).toEqual([])
  // One that never reported is in the way of no one, itself included.
  rollout.set(all, { isHealthy: true })
  rollout.set(['c1'], { isHealthy: false })
  expect(rollout.run()).toContain('c1')
})
