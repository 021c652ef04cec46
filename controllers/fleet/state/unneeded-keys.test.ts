import { expect, test } from 'vitest'
import { heldOfEach, RELEASE_ANNOTATION, type UnneededKey, UnneededKeyBrake } from './unneeded-keys.ts'

const orphans = (count: number): UnneededKey[] =>
  Array.from({ length: count }, (_, i) => ({
    key: `d${i}.shop.web`,
    placement: { device: `d${i}`, namespace: 'shop', deployment: 'web' },
    revision: i + 1,
    reason: 'DeploymentGone',
    isInherited: true,
  }))

const others = (count: number): UnneededKey[] =>
  orphans(count).map((one) => ({ ...one, key: `${one.key}-2`, reason: 'NotMatched', isInherited: false }))

const decide = (keys: readonly UnneededKey[], total: number, released?: string) =>
  new UnneededKeyBrake().decide(keys, total, released, 0)

// FLEET-5
test.each([
  [0, 100, false],
  [5, 5, false],
  [6, 6, true],
  [5, 20, false],
  [6, 29, true],
  [6, 30, false],
  [20, 100, false],
  [21, 100, true],
] as const)('%i orphans of %i keys: held is %s', (count, total, isHeld) => {
  const { free, held } = decide(orphans(count), total)
  expect([free.length, held?.count]).toEqual(isHeld ? [0, count] : [count, undefined])
})

// FLEET-5, FLEET-61
test('gc_refuses_when_cr_list_is_suspiciously_empty, and says what it would do and how it is released', () => {
  const { held } = decide(orphans(900), 900)
  expect(held?.message).toBe(
    'nothing needs 900 of 900 keys any more, and at most 90 are deleted unasked: shop/web on 900 devices (the Deployment is gone, or goes with its namespace). ' +
      'Until a person decides, devices keep what they have. Check that Deployments and Devices are all there, ' +
      `then set the annotation ${RELEASE_ANNOTATION}=${held?.release}`,
  )
  expect(held?.keys).toHaveLength(900)
  expect(decide(orphans(900).toReversed(), 900, held?.release)).toMatchObject({ held: undefined })
})

// FLEET-108
test('attack: an editor of one namespace reads in events which Deployments others have: each names its own alone', () => {
  const of = (namespace: string, deployment: string, count: number): UnneededKey[] =>
    others(count).map((one) => {
      const placement = { ...one.placement, namespace, deployment }
      return { ...one, placement, key: `${placement.device}.${namespace}.${deployment}` }
    })
  const { held } = decide([...of('shop', 'web', 2), ...of('bank', 'till', 30)], 32)
  if (held === undefined) throw new Error('the brake does not hold')
  const [till, web] = heldOfEach(held, 'fleet/muster-fleet')
  expect(till?.deployment).toBe('bank/till')
  expect(web).toEqual({
    deployment: 'shop/web',
    message:
      'nothing needs these keys any more, and with all others they are too many to be deleted unasked: shop/web on 2 devices (it no longer selects them). ' +
      'Until a person decides, devices keep what they have. Check that Deployments and Devices are all there, ' +
      `then set the annotation ${RELEASE_ANNOTATION}=${held.release} of the Lease fleet/muster-fleet, which releases all that is held`,
  })
})

// FLEET-5
test('a release holds for what was seen, not for orphans that came later', () => {
  const { held } = decide(orphans(20), 40)
  expect(decide(orphans(21), 40, held?.release).held?.count).toBe(21)
})

// FLEET-61
test('orphans that are held hold nothing else; one value releases both', () => {
  expect(decide([...orphans(6), ...others(3)], 9)).toMatchObject({ free: others(3), held: { count: 6 } })
  const { held } = decide([...orphans(6), ...others(21)], 27)
  expect(held?.count).toBe(27)
  expect(decide([...orphans(6), ...others(21)], 27, held?.release)).toMatchObject({ held: undefined })
})
