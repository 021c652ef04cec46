import { expect, test } from 'vitest'
import { decideOrphans, type Orphan, RELEASE_ANNOTATION } from './orphans.ts'

const orphans = (count: number): Orphan[] =>
  Array.from({ length: count }, (_, i) => ({
    key: `d${i}.shop.web`,
    placement: { device: `d${i}`, namespace: 'shop', deployment: 'web' },
    revision: i + 1,
    reason: 'DeploymentGone',
  }))

test.each([
  [0, 100, 'None'],
  [5, 5, 'Collect'],
  [6, 6, 'Braked'],
  [5, 20, 'Collect'],
  [6, 29, 'Braked'],
  [6, 30, 'Collect'],
  [20, 100, 'Collect'],
  [21, 100, 'Braked'],
] as const)('%i orphans of %i keys: %s', (count, seeded, verdict) => {
  expect(decideOrphans(orphans(count), seeded, undefined).verdict).toBe(verdict)
})

// FLEET-5
test('gc_refuses_when_cr_list_is_suspiciously_empty, and says how it is released', () => {
  const braked = decideOrphans(orphans(900), 900, undefined)
  if (braked.verdict !== 'Braked') throw new Error('it was not braked')
  expect(braked.message).toBe(
    `nothing wants 900 of 900 keys any more, and at most 180 are deleted unasked: check that Deployments and Devices are all there, then set the annotation ${RELEASE_ANNOTATION}=${braked.release}`,
  )
  expect(decideOrphans(orphans(900).toReversed(), 900, braked.release)).toMatchObject({ verdict: 'Collect' })
})

// FLEET-5
test('a release holds for what was seen, not for orphans that came later', () => {
  const braked = decideOrphans(orphans(20), 40, undefined)
  const release = braked.verdict === 'Braked' ? braked.release : ''
  expect(decideOrphans(orphans(21), 40, release).verdict).toBe('Braked')
})
