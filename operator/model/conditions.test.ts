import { expect, test } from 'vitest'
import { type Condition, isTrue, kstatusConditions, withConditions } from './conditions.ts'

const noon = new Date('2026-01-01T12:00:00.123Z')
const later = new Date('2026-01-01T12:05:00.456Z')
const reconciling = kstatusConditions({
  type: 'Reconciling',
  reason: 'Waiting',
  message: '1 of 3',
  observedGeneration: 4,
})

// RUNTIME-41
test('an object on its way says so in three conditions, in a fixed order', () => {
  expect(withConditions(undefined, reconciling, noon)).toMatchInlineSnapshot(`
    [
      {
        "lastTransitionTime": "2026-01-01T12:00:00Z",
        "message": "1 of 3",
        "observedGeneration": 4,
        "reason": "Waiting",
        "status": "False",
        "type": "Ready",
      },
      {
        "lastTransitionTime": "2026-01-01T12:00:00Z",
        "message": "1 of 3",
        "observedGeneration": 4,
        "reason": "Waiting",
        "status": "True",
        "type": "Reconciling",
      },
      {
        "lastTransitionTime": "2026-01-01T12:00:00Z",
        "message": "",
        "observedGeneration": 4,
        "reason": "NotStalled",
        "status": "False",
        "type": "Stalled",
      },
    ]
  `)
})

// RUNTIME-40
test('a new reason or message leaves the transition time, a new status moves it', () => {
  const before = withConditions([], reconciling, noon)
  const ready = kstatusConditions({ type: 'Ready', reason: 'Done', message: '', observedGeneration: 4 })
  expect(withConditions(before, ready, later).map((one) => [one.type, one.status, one.lastTransitionTime])).toEqual([
    ['Ready', 'True', '2026-01-01T12:05:00Z'],
    ['Reconciling', 'False', '2026-01-01T12:05:00Z'],
    ['Stalled', 'False', '2026-01-01T12:00:00Z'],
  ])
  const still = kstatusConditions({
    type: 'Reconciling',
    reason: 'Waiting',
    message: '2 of 3',
    observedGeneration: 5,
  })
  const after = withConditions(before, still, later)
  expect(after.every((one) => one.lastTransitionTime === '2026-01-01T12:00:00Z')).toBe(true)
  expect(after).not.toEqual(before)
})

test('conditions of others stay, after ours, and claiming the same again changes nothing', () => {
  const other: Condition = { type: 'Synced', status: 'True', reason: 'X', message: '', lastTransitionTime: 'then' }
  const once = withConditions([other], reconciling, noon)
  expect(once.map(({ type }) => type)).toEqual(['Ready', 'Reconciling', 'Stalled', 'Synced'])
  expect(once[3]).toBe(other)
  expect(withConditions(once, reconciling, later)).toEqual(once)
})

test('a condition that is missing, False or Unknown is not true', () => {
  const some = withConditions([], reconciling, noon)
  expect([
    isTrue(some, 'Reconciling'),
    isTrue(some, 'Ready'),
    isTrue(some, 'Nothing'),
    isTrue(undefined, 'Ready'),
  ]).toEqual([true, false, false, false])
})

test('what is too long for a condition is cut to what the API server takes, without half a character', () => {
  const message = `${'x'.repeat(32_767)}😀`
  const claim = { type: 'Available', status: 'False', reason: 'R'.repeat(1_025), message } as const
  const once = withConditions(undefined, [claim], noon)
  expect(once[0]).toMatchObject({ reason: 'R'.repeat(1_024), message: 'x'.repeat(32_767) })
  expect(withConditions(once, [claim], later)).toEqual(once)
})
