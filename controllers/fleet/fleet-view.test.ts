import { expect, test } from 'vitest'
import { deploymentOf, deviceOf, World } from '#test/worlds/fleet/builders.ts'
import { buildPlacementRow } from './fleet-view.ts'

// FLEET-100
test('a row says why the operator holds the device back, as the Deployment does of the few that it names', () => {
  const world = new World()
  world.deploy(deploymentOf('web'))
  world.join(deviceOf('a', {}, true))
  const operator = world.operator()
  world.store(operator)
  expect([...operator.matched('shop/web')].map(buildPlacementRow)).toMatchObject([
    { deployment: 'shop/web', device: 'a', phase: 'held', message: 'it is pinned' },
  ])
})
