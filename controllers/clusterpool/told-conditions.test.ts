/** What a pool's conditions tell of what is in the way: installations that fail, and a release that nothing here knows. */
import { expect, test } from 'vitest'
import { aCluster, aPool } from '#test/worlds/clusterpool/builders.ts'
import { conditionIn, planPass, type Scenario } from '#test/worlds/clusterpool/scenario.ts'

const pool = aPool({ size: 2 })

test('POOL-46: a pool that fills says why installations fail, in the words of the adapters', () => {
  const clusters = [
    aCluster('a', { state: 'installing', fails: 'attempt 1: dns: no zone example.com' }),
    aCluster('b', { state: 'installing' }),
  ]
  expect(conditionIn(planPass({ pool, clusters }), 'Ready')).toBe(
    'False/Filling: 0 of 2 wanted clusters are installed; an installation fails: a: attempt 1: dns: no zone example.com',
  )
})

test('POOL-46: also of one that was given up, and while it is being deleted', () => {
  for (const deleting of [false, true])
    expect(conditionIn(planPass({ pool, clusters: [aCluster('a', { state: 'broken', deleting })] }), 'Ready')).toBe(
      'False/Filling: 0 of 2 wanted clusters are installed; an installation fails: a: no more tries',
    )
})

test('POOL-46: of many the oldest is told, at a length that a condition can hold', () => {
  const clusters = ['a', 'b', 'c'].map((name, at) =>
    aCluster(name, { at, state: 'installing', fails: `${name} ${'x'.repeat(2_000)}` }),
  )
  const said = conditionIn(planPass({ pool: aPool({ size: 3 }), clusters }), 'Ready')
  expect(said).toMatch(/; installations fail: a: a x+…, and 2 more$/)
  expect(said.length).toBeLessThan(700)
})

test.each<[Scenario['imageSet'], string]>([
  ['Found', 'True/Found: ClusterImageSet openshift-v4.20 is there'],
  ['Missing', 'False/Missing: there is no ClusterImageSet openshift-v4.20'],
  [
    'NotServed',
    'Unknown/NotLookedUp: ClusterImageSets are not served here, so only the provider of the clusters can say whether openshift-v4.20 is a release; one that reads no release takes any name',
  ],
])('POOL-106: an image set that is %s is told by a condition', (imageSet, said) => {
  expect(conditionIn(planPass({ pool, imageSet }), 'ImageSetFound')).toBe(said)
})
