/** A small fleet for tests: objects as the API server has them, and buckets as NATS has them, without either. */

import { heartbeatCodec, type State, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Deployment, DeploymentSpec } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { DeviceSpec } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { findOrBuildRevision } from '#controllers/fleet/rollout/revisions.ts'
import { FleetState } from '#controllers/fleet/state/fleet-state.ts'
import type { DesiredWrite, KeyUpdate } from '#controllers/fleet/state/key-update.ts'
import { deploymentView, deviceView } from '#controllers/fleet/state/views.ts'
import type { LabelSelector } from '#operator/model/selector.ts'

/** The time of what devices are in tests. */
export const AT = new Date('2026-06-01T00:00:00Z')
export const CREATED = '2026-01-01T00:00:00Z'

/** What a Deployment rolls out by when its spec says nothing. */
export const DEFAULT_ROLLOUT: DeploymentSpec['rollout'] = {
  strategy: 'AllAtOnce',
  approval: 'Automatic',
  successThreshold: 90,
  updateTimeout: '24h',
  offlineGrace: '5m',
  onFailure: 'Suspend',
  paused: false,
}

export const scoreOf = (word: string): DeploymentSpec['score'] => ({ type: 'Process', data: { command: [word] } })

export const deploymentOf = (
  name: string,
  more: {
    command?: string
    selector?: LabelSelector
    uid?: string
    created?: string
    annotations?: Record<string, string>
    spec?: Partial<DeploymentSpec>
  } = {},
) =>
  ({
    apiVersion: 'fleet.nationtech.io/v1alpha1',
    kind: 'Deployment',
    metadata: {
      namespace: 'shop',
      name,
      uid: more.uid ?? `uid-of-${name}`,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: more.created ?? CREATED,
      ...(more.annotations !== undefined && { annotations: more.annotations }),
    },
    spec: {
      targetSelector: more.selector ?? {},
      priority: 0,
      score: scoreOf(more.command ?? name),
      rollout: DEFAULT_ROLLOUT,
      revisionHistoryLimit: 10,
      ...more.spec,
    },
  }) as Deployment

/** As it is seen when nothing was rolled out before. */
export const viewOf = (deployment: Deployment) => {
  const { metadata, spec } = deployment
  const { revision } = findOrBuildRevision([], { generation: metadata.generation ?? 1, score: spec.score }, undefined)
  return deploymentView(deployment, revision)
}

export const deviceOf = (
  name: string,
  labels: Record<string, string> = {},
  pinned = false,
  more: { spec?: Partial<DeviceSpec>; annotations?: Record<string, string>; version?: string; at?: Date } = {},
) =>
  deviceView(
    {
      apiVersion: 'fleet.nationtech.io/v1alpha1',
      kind: 'Device',
      metadata: {
        name,
        labels,
        uid: name,
        resourceVersion: more.version ?? '1',
        creationTimestamp: CREATED,
        annotations: more.annotations ?? {},
      },
      spec: { pinned, ...more.spec },
    },
    more.at ?? AT,
  )

/** A bucket: what NATS would have of it, and what it would tell a new watcher. */
export class Bucket {
  readonly values = new Map<string, { readonly bytes: Uint8Array; readonly revision: number }>()
  revision = 0

  put(key: string, bytes: Uint8Array): KeyUpdate {
    this.revision += 1
    this.values.set(key, { bytes, revision: this.revision })
    return { key, bytes, revision: this.revision }
  }

  delete(key: string): KeyUpdate {
    this.revision += 1
    this.values.delete(key)
    return { key, bytes: undefined, revision: this.revision }
  }

  replay(): KeyUpdate[] {
    return [...this.values].map(([key, value]) => ({ key, ...value }))
  }

  texts(): Record<string, string> {
    return Object.fromEntries([...this.values].map(([key, { bytes }]) => [key, Buffer.from(bytes).toString()]))
  }
}

/** The writes of an operator that leads while no brake holds anything; orphans are left alone. */
export const writesOf = (operator: FleetState): DesiredWrite[] => [
  ...operator.takeWrites(),
  ...operator
    .unneededKeys()
    .filter(({ isInherited }) => !isInherited)
    .map(({ key, revision }) => ({ kind: 'Delete' as const, key, revision })),
]

/** What is stored of a fleet while operators come and go. */
export class World {
  readonly desired = new Bucket()
  readonly states = new Bucket()
  readonly heartbeats = new Bucket()
  readonly deployments = new Map<string, Deployment>()
  readonly devices = new Map<string, ReturnType<typeof deviceOf>>()

  deploy(deployment: Deployment): Deployment {
    this.deployments.set(deployment.metadata.name, deployment)
    return deployment
  }

  join(...devices: readonly ReturnType<typeof deviceOf>[]): void {
    for (const device of devices) {
      this.devices.set(device.name, device)
      this.beat(device.name)
    }
  }

  beat(device: string): KeyUpdate {
    return this.heartbeats.put(device, heartbeatCodec.encode({ boot: 'b', at: CREATED }, 0))
  }

  say(device: string, deployment: string, more: Partial<State> = {}): KeyUpdate {
    const state: State = { phase: 'Running', uid: `uid-of-${deployment}`, revision: 1, at: CREATED, ...more }
    return this.states.put(`${device}.shop.${deployment}`, stateCodec.encode(state, 1))
  }

  /** An operator that has just read everything. */
  operator(): FleetState {
    const state = new FleetState()
    state.seed(this.desired.replay())
    for (const deployment of this.deployments.values()) state.deploymentSeen(viewOf(deployment))
    for (const device of this.devices.values()) state.deviceSeen(device)
    for (const seen of this.states.replay()) state.stateSeen(seen)
    for (const seen of this.heartbeats.replay()) state.heartbeatSeen(seen)
    return state
  }

  /** Stores at most so many of the writes of an operator, with compare-and-set, and tells it; the others fail. @returns how many were stored */
  store(operator: FleetState, most = Number.POSITIVE_INFINITY): number {
    let stored = 0
    const writes = writesOf(operator)
    for (const { key } of writes.slice(most)) operator.retry(key)
    for (const write of writes.slice(0, most)) {
      const found = this.desired.values.get(write.key)
      if ((found?.revision ?? 0) !== (found === undefined ? 0 : write.revision)) {
        operator.desiredSeen({ key: write.key, bytes: found?.bytes, revision: found?.revision ?? 0 })
        continue
      }
      operator.desiredSeen(
        write.kind === 'Put' ? this.desired.put(write.key, write.bytes) : this.desired.delete(write.key),
      )
      stored += 1
    }
    return stored
  }
}
