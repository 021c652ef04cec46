import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Taint } from '#apis/fleet.nationtech.io/v1alpha1/taint.ts'
import { compileSelection, type SelectableDevice, type TargetSpec } from './selection.ts'
import { unreachableTaint } from './taints.ts'

const NOON = new Date('2026-06-01T12:00:00Z')
const device: SelectableDevice = {
  name: 'till-1',
  labels: { region: 'eu' },
  inventory: { arch: 'arm64', cores: '4' },
  taints: [],
  at: NOON,
}
const select = (spec: Partial<TargetSpec>, more: Partial<SelectableDevice> = {}) =>
  compileSelection({ targetSelector: {}, ...spec })({ ...device, ...more })
const LAB: Taint = { key: 'example.com/lab', value: 'a', effect: 'NoExecute' }

describe('labels', () => {
  test('an empty selector is for all', () => {
    expect(select({})).toEqual({ is: 'Selected' })
  })

  test('what does not fit is named', () => {
    expect(select({ targetSelector: { matchLabels: { region: 'us' } } })).toEqual({
      is: 'NotSelected',
      why: 'its label region is "eu", and the selector wants region=us',
    })
    expect(select({ targetSelector: { matchExpressions: [{ key: 'ring', operator: 'Exists' }] } })).toEqual({
      is: 'NotSelected',
      why: 'it has no label ring, and the selector wants ring',
    })
  })
})

describe('an expression', () => {
  // FLEET-31
  test('must hold beside the labels', () => {
    const targetExpression = "device.inventory.arch == 'arm64' && int(device.inventory.cores) >= 4"
    expect(select({ targetExpression })).toEqual({ is: 'Selected' })
    expect(select({ targetExpression }, { inventory: { arch: 'arm64', cores: '2' } })).toEqual({
      is: 'NotSelected',
      why: 'the expression is false',
    })
  })

  // FLEET-32
  test('that fails says neither yes nor no', () => {
    const selection = select({ targetExpression: "device.labels.regoin == 'eu'" })
    expect(selection).toMatchObject({ is: 'Unknown', why: expect.stringContaining('regoin') })
  })

  test('that is known to be no truth value is refused at once, one that turns out to be none says neither', () => {
    expect(() => compileSelection({ targetSelector: {}, targetExpression: '1 + 1' })).toThrow(
      'spec.targetExpression: the expression gives int, but bool is needed here',
    )
    expect(select({ targetExpression: 'device.name' })).toMatchObject({ is: 'Unknown' })
  })

  test('of other names is refused, with what was probably meant', () => {
    expect(() => compileSelection({ targetSelector: {}, targetExpression: 'devise.name == "a"' })).toThrow(
      'spec.targetExpression: there is no variable devise: did you mean device?',
    )
  })

  test('that costs too much is ended, and says neither', () => {
    const list = `[${Array.from({ length: 60 }, (_, i) => i).join(',')}]`
    const targetExpression = `${list}.all(x, ${list}.all(y, x + y >= 0))`
    expect(select({ targetExpression })).toMatchObject({ is: 'Unknown', why: expect.stringContaining('steps') })
  })
})

describe('taints', () => {
  // FLEET-31
  test('that remove what is there select no device that does not bear them', () => {
    expect(select({}, { taints: [LAB] })).toEqual({
      is: 'NotSelected',
      why: 'no toleration bears its taint example.com/lab=a:NoExecute',
    })
    expect(select({ tolerations: [{ key: LAB.key, operator: 'Equal', value: 'a' }] }, { taints: [LAB] }).is).toBe(
      'Selected',
    )
    expect(select({ tolerations: [{ key: LAB.key, operator: 'Equal', value: 'b' }] }, { taints: [LAB] }).is).toBe(
      'NotSelected',
    )
    expect(select({ tolerations: [{ operator: 'Exists' }] }, { taints: [LAB] }).is).toBe('Selected')
  })

  test('that only hold changes back leave the selection alone', () => {
    expect(select({}, { taints: [{ ...LAB, effect: 'NoSchedule' }] }).is).toBe('Selected')
  })

  // FLEET-33
  test('a device that is offline stays, unless its Deployment bears that only for a while', () => {
    const taints = [unreachableTaint(new Date('2026-06-01T11:00:00Z'))]
    const tolerations = [
      {
        key: 'fleet.nationtech.io/unreachable',
        operator: 'Exists' as const,
        effect: 'NoExecute' as const,
        tolerationSeconds: 3_600,
      },
    ]
    expect(select({}, { taints }).is).toBe('Selected')
    expect(select({ tolerations }, { taints, at: new Date('2026-06-01T11:59:59Z') }).is).toBe('Selected')
    expect(select({ tolerations }, { taints, at: NOON }).is).toBe('NotSelected')
  })

  test('a further toleration never takes a device away, and a further taint never adds one', () => {
    const key = fc.constantFrom('a', 'b', 'c')
    const effect = fc.constantFrom('NoSchedule' as const, 'NoExecute' as const)
    const taints = fc.array(fc.record({ key, effect }), { maxLength: 4 })
    const toleration = fc.record(
      { key, operator: fc.constant('Exists' as const), effect, tolerationSeconds: fc.nat(10) },
      { requiredKeys: ['key', 'operator'] },
    )
    fc.assert(
      fc.property(taints, fc.array(toleration, { maxLength: 4 }), toleration, (all, tolerations, more) => {
        const isSelected = (these: typeof tolerations, those: typeof all) =>
          select({ tolerations: these }, { taints: those }).is === 'Selected'
        if (isSelected(tolerations, all)) expect(isSelected([...tolerations, more], all)).toBe(true)
        if (isSelected(tolerations, all)) expect(isSelected(tolerations, all.slice(1))).toBe(true)
      }),
    )
  })
})
