import { expect, test } from 'vitest'
import { manifestsOf } from '#test/worlds/suite/declared.ts'
import { dayOf, declaredAfter } from './day.ts'

const options = { seed: 3, duration: 600_000, pace: 5_000, pools: ['north', 'south'] }

test('the same seed is the same day', () => {
  expect(dayOf(options)).toEqual(dayOf(options))
  expect(dayOf({ ...options, seed: 4 })).not.toEqual(dayOf(options))
})

test('every pool is there from the first commits on, and there is always an inventory for all that is wanted', () => {
  for (let seed = 0; seed < 20; seed++) {
    const day = dayOf({ ...options, seed })
    expect(day.slice(0, 2).map(({ message }) => message)).toEqual(['Add the pool north', 'Add the pool south'])
    for (const { declared } of day)
      if (declared !== undefined)
        expect(declared.customizations.length).toBeGreaterThan(declared.size + declared.claims.length)
  }
})

test('claims and rollouts come and go, pools go and come back, and no claim has the name of an earlier one', () => {
  const day = dayOf(options)
  const words = new Set(day.map(({ message }) => message.split(' ')[0]))
  expect(words).toEqual(new Set(['Add', 'Claim', 'Release', 'Roll', 'Update', 'Withdraw', 'Have', 'Remove']))
  const claims = day.map(({ message }) => /^Claim (\S+)/.exec(message)?.[1]).filter((name) => name !== undefined)
  expect(new Set(claims).size).toBe(claims.length)
})

test('where pools stay, none is removed or resized', () => {
  const words = new Set(dayOf({ ...options, keepsPools: true }).map(({ message }) => message.split(' ')[0]))
  expect(words).toEqual(new Set(['Add', 'Claim', 'Release', 'Roll', 'Update', 'Withdraw']))
})

test('what stands at the end is what the last commit of each pool says', () => {
  const [first, second] = dayOf(options)
  if (first === undefined || second === undefined) throw new Error('the day has no commits')
  const gone = { ...first, at: 1, declared: undefined }
  expect([...declaredAfter([first, second, gone]).keys()]).toEqual([second.pool])
  expect(declaredAfter([gone, first]).get(first.pool)).toEqual(first.declared)
})

test('a pool is declared with its inventory, claims and rollouts', () => {
  const declared = { name: 'north', size: 1, customizations: ['a', 'b'], claims: ['c'], rollouts: { r: 'x' } }
  const kinds = manifestsOf(declared).map((manifest) => (manifest as { kind: string }).kind)
  expect(kinds).toEqual([
    'ClusterDeploymentCustomization',
    'ClusterDeploymentCustomization',
    'ClusterPool',
    'ClusterClaim',
    'Deployment',
  ])
})
