/** Device: a machine whose agent runs what Deployments say. The operator writes it from what the agent tells. FLEET-52. */
import Type, { type Static } from 'typebox'
import type { CustomKind } from '#apis/schema/kind.ts'
import { count, standardStatus } from '#apis/schema/status.ts'
import { defineResource, type KubeObject } from '#operator/model/resource.ts'
import { nameRule } from './name.ts'
import { taints } from './taint.ts'
import { windows } from './window.ts'

const spec = () =>
  Type.Object(
    {
      inventory: Type.Optional(
        Type.Record(Type.String(), Type.String({ description: 'A value.', maxLength: 1_024 }), {
          description: 'Facts that the agent tells of the machine, such as arch, os and kernel.',
          maxProperties: 64,
        }),
      ),
      pinned: Type.Boolean({
        description: 'While true, nothing on the device changes: its Deployments count it as held.',
        default: false,
      }),
      taints: taints({ description: 'Taints that keep off Deployments that don’t bear them.' }),
      windows: windows({
        description: 'Changes begin on the device only while one of these is open; at any time when absent.',
      }),
    },
    { description: 'Description of the device.' },
  )

const phases = () =>
  Type.Object(
    {
      succeeded: count({ description: 'That run.' }),
      failed: count({ description: 'That failed.' }),
      pending: count({ description: 'That are under way.' }),
      held: count({ description: 'Of which the device keeps what it has.' }),
    },
    { description: 'Deployments on the device by how they do.' },
  )

const status = () =>
  Type.Object(
    {
      ...standardStatus(),
      lastSeen: Type.Optional(
        Type.String({
          description:
            'When its agent was last heard of, as of the last change of this status: heartbeats alone do not write it.',
          format: 'date-time',
        }),
      ),
      agentVersion: Type.Optional(Type.String({ description: 'Of its agent.', maxLength: 64 })),
      taints: taints({
        description: 'Taints that the operator set: fleet.nationtech.io/unreachable without a heartbeat.',
      }),
      deployments: Type.Optional(phases()),
    },
    {
      description:
        'How the device does. Ready is Unknown once its heartbeat expired; MultipleOwners is True while several Deployments want one slot of it; EntriesVerified is False while it does not take what a key of the fleet has signed, and that alone; InfoVerified is False while what stands in fleet-info is not signed by the device.',
    },
  )

export type DeviceSpec = Static<ReturnType<typeof spec>>
export type DeviceStatus = Static<ReturnType<typeof status>>
export type Device = KubeObject<DeviceSpec, DeviceStatus>

/** The handle by which controllers and clients name this kind. */
export const Device = defineResource<DeviceSpec, DeviceStatus>({
  group: 'fleet.nationtech.io',
  version: 'v1alpha1',
  plural: 'devices',
  kind: 'Device',
  scope: 'Cluster',
  subresources: ['status'],
})

/** Everything that is generated from this file. */
export const deviceKind = (): CustomKind => ({
  resource: Device,
  description: 'A Device is a machine with an agent that runs the Deployments which match its labels.',
  shortNames: ['fleetdev'],
  rules: [nameRule('Device')],
  spec: spec(),
  status: status(),
  columns: [
    {
      name: 'Ready',
      type: 'string',
      path: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Unknown when it is offline.',
    },
    { name: 'Agent', type: 'string', path: '.status.agentVersion', description: 'Version of the agent.' },
    { name: 'Pinned', type: 'boolean', path: '.spec.pinned', description: 'Whether nothing changes on it.' },
    { name: 'Failed', type: 'integer', path: '.status.deployments.failed', description: 'Deployments that failed.' },
    {
      name: 'Last-Seen',
      type: 'date',
      path: '.status.lastSeen',
      description: 'When its agent was last heard of, as of the last change of its status.',
    },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: ['.spec.pinned'],
})
