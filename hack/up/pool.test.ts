import { expect, test } from 'vitest'
import { describePoolChanges, isFilled, isFree, isRefilled, type PoolSighting, poolPicture } from './pool.ts'

const sighting = (over: Partial<PoolSighting>): PoolSighting => ({
  name: 'edge',
  size: 3,
  ready: 0,
  standby: 0,
  claimed: 0,
  inventory: '4/4',
  clusters: new Map(),
  claims: new Map(),
  ...over,
})

const FILLED = sighting({ ready: 3, clusters: new Map(['a', 'b', 'c'].map((name) => [name, 'Provisioned'])) })

test('only what has changed is told, what is gone too', () => {
  const before = sighting({
    claims: new Map([['demo', 'ClusterClaimed']]),
    clusters: new Map([['edge-1', 'Provisioning (dallas)']]),
  })
  const now = sighting({ ready: 1, clusters: new Map([['edge-2', 'New (denver)']]) })
  expect(describePoolChanges(before, now)).toEqual([
    'clusterdeployment/edge-2 is New (denver)',
    'clusterdeployment/edge-1 is gone',
    'clusterclaim/demo is gone',
    'clusterpool/edge has 1 of 3 clusters ready, 0 claimed, inventory 4/4',
  ])
  expect(describePoolChanges(now, now)).toEqual([])
})

test('the picture has a line for all there is', () => {
  const claims = new Map([['demo', 'NoClusters']])
  const clusters = new Map([['edge-1', 'New (dallas)']])
  expect(poolPicture(sighting({ standby: 1, claims, clusters }))).toEqual([
    'clusterpool/edge has 0 of 3 clusters ready, 1 hibernated, 0 claimed, inventory 4/4',
    'clusterdeployment/edge-1 is New (dallas)',
    'clusterclaim/demo is NoClusters',
  ])
})

test('filled, refilled and free are three things', () => {
  const refilled = {
    ...FILLED,
    claimed: 1,
    claims: new Map([['demo', 'ClusterClaimed']]),
    clusters: new Map([...FILLED.clusters, ['d', 'x']]),
  }
  const goals = [isFilled, isRefilled, isFree]
  expect(goals.map((goal) => goal(FILLED))).toEqual([true, false, true])
  expect(goals.map((goal) => goal(refilled))).toEqual([true, true, false])
  expect(goals.map((goal) => goal(sighting({})))).toEqual([false, false, false])
})
