/** How a Deployment went decides what becomes of its keys: FLEET-61, FLEET-77. */
import { expect, test } from 'vitest'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { CREATED, deploymentOf, deviceOf, viewOf } from '#test/worlds/fleet/builders.ts'
import { buildControllerRevision } from '../rollout/controllerrevision.ts'
import { findOrBuildRevision } from '../rollout/revisions.ts'
import { FleetState } from '../state/fleet-state.ts'
import { DeploymentCache } from './deployments.ts'

const KEY = 'shop/web'

/** A Deployment that one device has, and what is done about the key once the Deployment is gone. */
const running = () => {
  const web = deploymentOf('web')
  const state = new FleetState()
  const refuse = () => Promise.reject(new Error('nothing is asked for'))
  const api = { create: refuse, get: refuse, delete: refuse }
  const deployments = new DeploymentCache({ state, api, clock: systemClock, log: silent })
  const { revision } = findOrBuildRevision([], { generation: 1, score: web.spec.score }, undefined)
  deployments.revisionSeen(buildControllerRevision(web.metadata, revision))
  deployments.seen(web)
  const device = deviceOf('a')
  state.deviceSeen(device)
  const view = viewOf(web)
  const bytes = view.encodeDesired(view.target, device) ?? new Uint8Array()
  state.desiredSeen({ key: 'a.shop.web', bytes, revision: 1 })
  const deleting: Deployment = { ...web, metadata: { ...web.metadata, deletionTimestamp: CREATED } }
  const outcome = () => ({
    deleted: state.takeWrites().map(({ kind, key }) => `${kind} ${key}`),
    unneeded: state.unneededKeys().map(({ reason }) => reason),
  })
  expect(outcome()).toEqual({ deleted: [], unneeded: [] })
  return { deployments, web, deleting, outcome }
}

const GOES_AT_ONCE = { deleted: ['Delete a.shop.web'], unneeded: [] }
const LEFT_TO_THE_BRAKE = { deleted: [], unneeded: ['DeploymentGone'] }

test('FLEET-61: one that is not there any more, without a word of its deletion, was deleted by no person', () => {
  const { deployments, web, outcome } = running()
  deployments.deleted(web)
  expect(outcome()).toEqual(LEFT_TO_THE_BRAKE)
})

test('one that a person deleted takes its key along', () => {
  const { deployments, deleting, outcome } = running()
  deployments.seen(deleting)
  deployments.deletedByPerson(KEY)
  expect(outcome()).toEqual(GOES_AT_ONCE)
  deployments.deleted(deleting)
  expect(outcome()).toEqual(GOES_AT_ONCE)
})

test('FLEET-77: one that goes with its namespace leaves its key to the brake, also when its finalizer is taken off by force', () => {
  const { deployments, deleting, outcome } = running()
  deployments.seen(deleting)
  deployments.goesWithNamespace(KEY)
  expect(outcome()).toEqual(LEFT_TO_THE_BRAKE)
  deployments.deleted(deleting)
  expect(outcome()).toEqual(LEFT_TO_THE_BRAKE)
})

test('FLEET-77: one whose finalizer is taken off by force before it is known how it was deleted leaves its key to the brake', () => {
  const { deployments, deleting, outcome } = running()
  deployments.seen(deleting)
  deployments.deleted(deleting)
  expect(outcome()).toEqual(LEFT_TO_THE_BRAKE)
})

test('FLEET-77: one that is there again, as after etcd was restored, was not deleted: how it is deleted the next time is asked anew', () => {
  for (const explain of ['deletedByPerson', 'goesWithNamespace'] as const) {
    const { deployments, web, deleting, outcome } = running()
    deployments.seen(deleting)
    deployments[explain](KEY)
    deployments.seen(web)
    expect(deployments.isDeletedByPerson(KEY)).toBe(false)
    deployments.seen(deleting)
    expect(deployments.isDeletionUnexplained(KEY)).toBe(true)
    expect(outcome()).toEqual(LEFT_TO_THE_BRAKE)
  }
})
