/** Deployment: a workload for every device that a selector matches. */
import Type, { type Static } from 'typebox'
import type { CustomKind } from '#apis/schema/kind.ts'
import { labelSelector } from '#apis/schema/label-selector.ts'
import { rules } from '#apis/schema/rule.ts'
import { count, standardStatus } from '#apis/schema/status.ts'
import { defineResource, type KubeObject } from '#operator/model/resource.ts'
import { nameRule } from './name.ts'
import { rollout, rolloutStatus } from './rollout.ts'
import { score } from './score.ts'
import { tolerations } from './taint.ts'

const spec = () =>
  Type.Object(
    {
      targetSelector: labelSelector({
        description: 'The devices that run it, by their labels. Empty, it matches all.',
      }),
      targetExpression: Type.Optional(
        Type.String({
          description:
            'An expression in CEL that must hold as well. It sees `device.name`, `device.labels` and `device.inventory`. Where it fails, nothing is added and nothing removed.',
          minLength: 1,
          maxLength: 2_048,
        }),
      ),
      tolerations: tolerations({ description: 'The taints of devices that it bears.' }),
      slot: Type.Optional(
        Type.String({
          description:
            'A place on each device that one Deployment has at a time, such as `firmware`: of those that name it, the one of the highest priority, then the oldest.',
          minLength: 1,
          maxLength: 63,
          pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
        }),
      ),
      priority: Type.Integer({
        description: 'Which Deployment has the slot on a device that several claim it for: the higher number.',
        minimum: -1_000_000_000,
        maximum: 1_000_000_000,
        default: 0,
      }),
      score: score(),
      rollout: rollout(),
      revisionHistoryLimit: Type.Integer({
        description: 'How many revisions before the present one are kept to go back to.',
        minimum: 0,
        maximum: 100,
        default: 10,
      }),
    },
    {
      description: 'The workload, and the devices that run it.',
      ...rules({
        rule: 'has(self.slot) || !has(self.priority) || self.priority == 0',
        message: 'priority decides who has a slot: name the slot, or leave priority out',
      }),
    },
  )

const offender = () =>
  Type.Object(
    {
      device: Type.String({ description: 'The device.', maxLength: 63 }),
      state: Type.Enum(['failed', 'offline', 'unreported', 'held', 'pending'], {
        description: 'State that it counts as, the worst first.',
      }),
      message: Type.Optional(Type.String({ description: 'Its last message.', maxLength: 1_024 })),
    },
    { description: 'A device that is not as wanted.' },
  )

const aggregate = () =>
  Type.Object(
    {
      matched: count({ description: 'Devices that the selector matches: the sum of succeeded to held.' }),
      targeted: count({ description: 'Matched devices that were given the present revision.' }),
      updated: count({ description: 'Matched devices that said that they have the present revision.' }),
      succeeded: count({ description: 'Online devices on which what they were given runs.' }),
      failed: count({ description: 'Devices on which it failed, or for which its templates can’t be filled in.' }),
      pending: count({
        description: 'Devices at work on it, and offline ones that never said anything about this Deployment.',
      }),
      offline: count({ description: 'Devices without a heartbeat that said something about it before.' }),
      unreported: count({ description: 'Online devices that have not said anything about it yet.' }),
      held: count({
        description: 'Devices that keep what they have: their turn has not come, or something holds changes back.',
      }),
      lastError: Type.Optional(Type.String({ description: 'The newest error of a device.', maxLength: 4_096 })),
      offenders: Type.Optional(
        Type.Array(offender(), {
          description: 'Ten devices that are not as wanted, the worst first; of each state at least one.',
          maxItems: 10,
          'x-kubernetes-list-type': 'atomic',
        }),
      ),
    },
    { description: 'How its devices do; succeeded + failed + pending + offline + unreported + held = matched.' },
  )

const status = () =>
  Type.Object(
    {
      ...standardStatus(),
      aggregate: Type.Optional(aggregate()),
      revision: count({ description: 'The present revision: it counts changes of score.' }),
      rollout: Type.Optional(rolloutStatus()),
      ready: Type.Optional(Type.String({ description: 'Succeeded of matched devices, as 812/900.', maxLength: 32 })),
      batch: Type.Optional(Type.String({ description: 'The batch of all batches, as 2/4.', maxLength: 32 })),
    },
    {
      description:
        'State of the Deployment. MultipleOwners is True while other Deployments want its slot on the same devices.',
    },
  )

export type DeploymentSpec = Static<ReturnType<typeof spec>>
export type DeploymentStatus = Static<ReturnType<typeof status>>
export type Aggregate = Required<Static<ReturnType<typeof aggregate>>>
export type Deployment = KubeObject<DeploymentSpec, DeploymentStatus>

/** The handle by which controllers and clients name this kind. Never to be mixed up with Deployment of apps/v1. */
export const Deployment = defineResource<DeploymentSpec, DeploymentStatus>({
  group: 'fleet.nationtech.io',
  version: 'v1alpha1',
  plural: 'deployments',
  kind: 'Deployment',
  scope: 'Namespaced',
  subresources: ['status'],
})

/** Everything that is generated from this file. */
export const deploymentKind = (): CustomKind => ({
  resource: Deployment,
  description:
    'A Deployment runs a workload on every device that its selector matches. `kubectl get deployments` means those of apps/v1: write fleetdep.',
  shortNames: ['fleetdep'],
  rules: [nameRule('Deployment')],
  spec: spec(),
  status: status(),
  columns: [
    { name: 'Ready', type: 'string', path: '.status.ready', description: 'Succeeded of matched devices.' },
    { name: 'Failed', type: 'integer', path: '.status.aggregate.failed', description: 'Devices on which it failed.' },
    {
      name: 'Offline',
      type: 'integer',
      path: '.status.aggregate.offline',
      description: 'Devices without a heartbeat.',
    },
    { name: 'Held', type: 'integer', path: '.status.aggregate.held', description: 'Devices whose turn has not come.' },
    { name: 'Batch', type: 'string', path: '.status.batch', description: 'The batch of all batches.' },
    { name: 'Rollout', type: 'string', path: '.status.rollout.phase', description: 'How the rollout stands.' },
    { name: 'Revision', type: 'integer', path: '.status.revision', description: 'The present revision.' },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: [],
})
