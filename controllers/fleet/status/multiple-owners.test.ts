import { expect, test } from 'vitest'
import type { Condition } from '#operator/model/conditions.ts'
import { deploymentSlotConditions, deviceSlotConditions } from './multiple-owners.ts'

const NEVER_SAID = { before: undefined, generation: 3 }
const CONFLICT: Condition = {
  type: 'MultipleOwners',
  status: 'True',
  reason: 'SlotTaken',
  message: 'others',
  lastTransitionTime: '2026-06-01T00:00:00Z',
}

// FLEET-29
test('a Deployment says who has its slot, who wants it, on how many devices, and what to do', () => {
  const lost = new Map([['shop/fix', 12]])
  const won = new Map([
    ['shop/beta', 1],
    ['shop/alpha', 3],
  ])
  expect(deploymentSlotConditions('firmware', { lost, won }, NEVER_SAID)).toEqual([
    {
      type: 'MultipleOwners',
      status: 'True',
      reason: 'SlotTaken',
      message:
        'others name the slot firmware too: shop/fix has it on 12 devices, shop/alpha wants it on 3 devices where this one has it, ' +
        'shop/beta wants it on 1 device where this one has it. A device runs one of them, by priority, then the oldest: ' +
        'change slot, priority or selector',
      observedGeneration: 3,
    },
  ])
  expect(deploymentSlotConditions('firmware', { lost: new Map(), won }, NEVER_SAID)).toMatchObject([
    { reason: 'SlotContested' },
  ])
})

// FLEET-29
test('a Device says who has each slot and who wanted it', () => {
  const conflicts = [
    { slot: 'firmware', owner: 'shop/fix', others: ['shop/beta', 'shop/base'] },
    { slot: 'bios', owner: 'shop/b2', others: ['shop/b1'] },
  ]
  expect(deviceSlotConditions(conflicts, NEVER_SAID)).toMatchObject([
    {
      status: 'True',
      message:
        'shop/b2 has the slot bios, which is also wanted by shop/b1; ' +
        'shop/fix has the slot firmware, which is also wanted by shop/beta, shop/base. ' +
        'A device runs one of them, by priority, then the oldest: change slot, priority or selector',
    },
  ])
})

test('of a hundred the five with the most devices are named, whatever their order, and the others counted', () => {
  const met = Array.from({ length: 100 }, (_, n) => [`shop/d${n}`, n + 1] as const)
  const message = (won: readonly (readonly [string, number])[]) =>
    deploymentSlotConditions('firmware', { lost: new Map(), won: new Map(won) }, NEVER_SAID)[0]?.message
  expect(message(met)).toContain('shop/d99 wants it on 100 devices')
  expect(message(met)).toContain('and 95 more that want it')
  expect(message(met)).not.toContain('shop/d94')
  expect(message(met.toReversed())).toBe(message(met))
  const others = met.map(([key]) => key)
  const [device] = deviceSlotConditions(
    Array.from({ length: 7 }, (_, n) => ({ slot: `s${n}`, owner: 'shop/a', others })),
    NEVER_SAID,
  )
  expect(device?.message.match(/and 95 more Deployments/g)).toHaveLength(5)
  expect(device?.message).toContain('and 2 more slots')
})

test('when it is over, a Deployment that said it says so, and one that never said it says nothing', () => {
  const context = { before: [CONFLICT], generation: 4 }
  const over = [{ type: 'MultipleOwners', status: 'False', reason: 'OneOwner', message: '', observedGeneration: 4 }]
  expect(deploymentSlotConditions('firmware', undefined, context)).toEqual(over)
  expect(deviceSlotConditions([], context)).toEqual(over)
  expect([
    ...deploymentSlotConditions(undefined, undefined, NEVER_SAID),
    ...deviceSlotConditions([], NEVER_SAID),
  ]).toEqual([])
})
