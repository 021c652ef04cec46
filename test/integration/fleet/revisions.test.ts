/** What a Deployment takes for its own revisions, on a real API server. The test says what the watches show, and when. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { DeploymentCache } from '#controllers/fleet/cache/deployments.ts'
import { FleetState } from '#controllers/fleet/state/fleet-state.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { type FleetWorld, fleetWorld, scoreOf } from './world.ts'

let world: FleetWorld

beforeAll(async () => {
  world = await fleetWorld()
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

// FLEET-26
test('cr_deleted_and_recreated_same_name: one made anew takes no revision of the one before, though these are not collected yet', async () => {
  const deployments = new DeploymentCache({ state: new FleetState(), api: world.kube, clock: systemClock, log: silent })
  const revisionAfter = async (object: Deployment) => {
    deployments.seen(object)
    expect(await deployments.storeNext(`${world.namespace}/web`)).toBe(true)
    return deployments.revisions(`${world.namespace}/web`)?.target.revision
  }
  expect(await revisionAfter(await world.deploy('web'))).toBe(1)
  const first = await world.change('web', { spec: { score: scoreOf('next') } })
  expect(await revisionAfter(first)).toBe(2)
  await world.kube.delete(Deployment, 'web', world.namespace)
  deployments.deleted(first)

  expect(await revisionAfter(await world.deploy('web', { score: scoreOf('next') }))).toBe(1)
})
