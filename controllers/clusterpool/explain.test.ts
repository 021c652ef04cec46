import { expect, test } from 'vitest'
import { aClaim, aCluster, aCustomization, aPool, BAD_PATCH } from '#test/worlds/clusterpool/builders.ts'
import { planPass } from '#test/worlds/clusterpool/scenario.ts'
import { explain, explainText } from './explain.ts'

test('a plan reads as what is done, to what, and why', () => {
  const pool = aPool({ inventory: ['bad', 'good'], size: 2, hibernationConfig: { resumeTimeout: '20m' } })
  const plan = planPass({
    pool,
    clusters: [aCluster('runs', { pool }), aCluster('wakes', { pool, state: 'installing', resumingSince: 50 })],
    claims: [aClaim('first'), aClaim('second', { at: 1 })],
    customizations: [aCustomization('bad', { patches: [BAD_PATCH] }), aCustomization('good')],
  })
  expect(explainText(plan)).toMatchInlineSnapshot(`
    "pools/pool:
      WriteStatus    pool              the status says something else
      AssignClaim    first and runs    the oldest claim that waits gets the oldest cluster that runs
      CreateCluster  pool-2 with good  missing clusters: 2
      QueueClaim     second at 1       no cluster is ready: place 1 in the queue of pool pool
      Wait           size              missing clusters that can’t be made yet: 1; no other customization is free
    looks again at 2026-03-01T09:10:00.001Z
    "
  `)
})

test('a plan as JSON leaves documents out', () => {
  const pool = aPool({ size: 0 })
  const plan = planPass({ pool, clusters: [aCluster('idle')] })
  expect(JSON.parse(JSON.stringify(explain(plan)))).toEqual({
    pool: 'pools/pool',
    actions: [
      { action: 'WriteStatus', about: 'pool', why: 'the status says something else' },
      { action: 'DeleteCluster', about: 'idle', why: 'there are more clusters than wanted' },
    ],
  })
})

test('nothing to do is said, too', () => {
  const plan = planPass({ pool: aPool({ size: 0 }) })
  expect(explainText({ ...plan, actions: [], recheckAt: undefined })).toBe('pools/pool: nothing to do\n')
})
