/** A rollout over FleetState: what the operator does at every tick, without its I/O. */
import { expect, test } from 'vitest'
import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import type { State } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { deploymentOf, deviceOf, scoreOf, World } from '#test/worlds/fleet/builders.ts'
import type { FleetState } from '../state/fleet-state.ts'
import { deploymentView } from '../state/views.ts'
import { admittedDevices, advanceRollout, type RolloutInput } from './advance.ts'
import { parseControls } from './annotations.ts'
import { buildRolloutDevice } from './member.ts'
import { buildRestoration, findOrBuildRevision, type Revision } from './revisions.ts'

const NOW = new Date(Date.UTC(2026, 5, 1))

/** What is stored in Kubernetes beside the objects: revisions and status. */
class Operated {
  readonly world = new World()
  readonly web = deploymentOf('web')
  history: Revision[] = [findOrBuildRevision([], { generation: 1, score: scoreOf('old') }, undefined).revision]
  status: RolloutStatus | undefined
  operator: FleetState

  constructor() {
    this.world.deploy(deploymentOf('web', { command: 'old' }))
    this.world.join(...['a', 'b', 'c', 'd'].map((name) => deviceOf(name)))
    this.operator = this.world.operator()
    this.world.store(this.operator)
    for (const name of ['a', 'b', 'c', 'd']) this.say(name, { revision: 1 })
    this.world.deploy(this.web)
  }

  say(device: string, state: Partial<State>): void {
    this.operator.stateSeen(this.world.say(device, 'web', state))
  }

  /** @param command What the spec asks for. @returns the keys that were written */
  tick(command = 'new'): number {
    const score = scoreOf(command)
    const refused = this.status?.refused
    const { revision } = findOrBuildRevision(this.history, { generation: 2, score }, refused)
    if (!this.history.includes(revision)) this.history.push(revision)
    const from = this.status?.revision === revision.revision ? this.status.from : this.history.at(-2)?.revision
    const spec = {
      ...this.web.spec.rollout,
      strategy: 'Batches' as const,
      batches: [{ limit: 1 }],
      onFailure: 'Rollback' as const,
    }
    const view = (admits: (name: string) => boolean) =>
      deploymentView(this.web, revision, this.history, {
        ...(from !== undefined && { from }),
        admits: ({ name }) => admits(name),
      })
    this.operator.deploymentSeen(view(() => false))
    const input: RolloutInput = {
      spec,
      id: { uid: this.web.metadata.uid, revision: revision.revision },
      from,
      isRestoring: refused === digestOf(score),
      before: this.status,
      members: [...this.operator.matched('shop/web')].map((known) =>
        buildRolloutDevice(
          view(() => false),
          known,
        ),
      ),
      controls: parseControls(),
      now: NOW,
    }
    const { status, goBackTo } = advanceRollout(input)
    this.status = status
    if (goBackTo !== undefined) {
      const back = buildRestoration(this.history, goBackTo, 2)
      if (back === undefined) throw new Error('there is nothing to go back to')
      this.history.push(back.revision)
      this.status = { ...status, refused: back.refused }
      return this.tick(command)
    }
    const names = admittedDevices(input, status)
    this.operator.deploymentSeen(view((name) => names.has(name)))
    return this.world.store(this.operator)
  }

  get canary(): string {
    const [name = ''] = [...this.world.desired.values].toSorted(([, a], [, b]) => b.revision - a.revision)[0] ?? []
    return name.split('.')[0] ?? ''
  }
}

// FLEET-37
test('a change goes to one device, and after it has succeeded to the others; the restart of a converged fleet writes nothing', () => {
  const fleet = new Operated()
  expect(fleet.tick()).toBe(1)
  expect(fleet.operator.aggregate('shop/web')).toMatchObject({
    matched: 4,
    targeted: 1,
    updated: 0,
    pending: 1,
    held: 3,
  })
  expect(fleet.tick()).toBe(0)
  const { canary } = fleet
  fleet.say(canary, { revision: 2 })
  expect(fleet.tick()).toBe(3)
  for (const name of ['a', 'b', 'c', 'd']) fleet.say(name, { revision: 2 })
  expect(fleet.tick()).toBe(0)
  expect(fleet.status?.phase).toBe('Inactive')
  expect(fleet.operator.aggregate('shop/web')).toMatchObject({ matched: 4, targeted: 4, updated: 4, succeeded: 4 })
  const written = fleet.world.desired.revision
  fleet.operator = fleet.world.operator()
  expect(fleet.tick()).toBe(0)
  expect(fleet.world.desired.revision).toBe(written)
})

// FLEET-23
test('restart_mid_rollout_resumes_same_batch: the new operator gives the change to no other device', () => {
  const fleet = new Operated()
  fleet.tick()
  fleet.operator = fleet.world.operator()
  expect(fleet.tick()).toBe(0)
  expect(fleet.operator.aggregate('shop/web')).toMatchObject({ targeted: 1, held: 3 })
})

// FLEET-40
test('failed_canary_rolls_back_only_canary: its key is written once more, and those of the others never', () => {
  const fleet = new Operated()
  fleet.tick()
  const { canary } = fleet
  const others = ['a', 'b', 'c', 'd'].filter((name) => name !== canary)
  fleet.say(canary, { revision: 2, phase: 'Failed', message: 'no such file' })
  expect(fleet.operator.aggregate('shop/web')).toMatchObject({ failed: 1, lastError: `${canary}: no such file` })
  expect(fleet.tick()).toBe(1)
  const writtenLast = (name: string) => fleet.world.desired.values.get(`${name}.shop.web`)?.revision ?? 0
  // Four keys at first, then the canary's twice.
  expect(writtenLast(canary)).toBe(6)
  expect(Math.max(...others.map(writtenLast))).toBeLessThanOrEqual(4)
  fleet.say(canary, { revision: 3 })
  expect(fleet.tick()).toBe(0)
  expect(fleet.operator.aggregate('shop/web')).toMatchObject({ matched: 4, targeted: 4, succeeded: 4 })
  expect(fleet.status).toMatchObject({ phase: 'Inactive', revision: 3 })
})

// FLEET-40
test('what was taken back is rolled out again when the spec asks for it anew, after something else', () => {
  const fleet = new Operated()
  fleet.tick()
  fleet.say(fleet.canary, { revision: 2, phase: 'Failed' })
  fleet.tick()
  fleet.tick()
  expect(fleet.status).toMatchObject({ revision: 3, refused: digestOf(scoreOf('new')) })
  fleet.tick('other')
  expect(fleet.status?.revision).toBe(4)
  fleet.tick('new')
  expect(fleet.status?.revision).toBe(5)
})
