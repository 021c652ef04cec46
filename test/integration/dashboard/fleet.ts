/** A small fleet in this process: the real FleetState, filled as the operator fills it, and read as the dashboard reads it. */

import {
  type DeviceRow,
  type FleetView,
  PLACEMENT_PHASES,
  type PlacementPhase,
  type PlacementRow,
  type Recovery,
} from '#apis/fleet.nationtech.io/fleet-view.ts'
import { type Desired, heartbeatCodec, type State, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { FleetState } from '#controllers/fleet/state/fleet-state.ts'
import { placementPhase } from '#controllers/fleet/state/placement.ts'
import {
  FEEDS,
  type Feed,
  initialSyncStates,
  type SyncEvent,
  summarizeSync,
  withSyncEvent,
} from '#controllers/fleet/state/sync-state.ts'
import type { Clock } from '#operator/model/clock.ts'
import { Bucket, CREATED, deploymentOf, deviceOf, viewOf } from '#test/worlds/fleet/builders.ts'

export class Fleet implements FleetView {
  readonly state = new FleetState()
  readonly #clock: Clock
  readonly #desired = new Bucket()
  readonly #states = new Bucket()
  readonly #heartbeats = new Bucket()
  readonly #devices = new Map<string, ReturnType<typeof deviceOf>>()
  readonly #seen = new Map<string, Date>()
  readonly #deployments = new Map<string, Deployment>()
  readonly #rollouts = new Map<string, RolloutStatus>()
  readonly #listeners = new Set<() => void>()
  #latches: ReturnType<typeof initialSyncStates>
  brake: Recovery['brake']

  constructor(clock: Clock) {
    this.#clock = clock
    this.#latches = initialSyncStates(clock.now())
  }

  /** A latch is told something. */
  tell(feed: Feed, event: SyncEvent): void {
    this.#latches = withSyncEvent(this.#latches, feed, event, this.#clock.now())
    this.#changed()
  }

  converge(): void {
    for (const feed of FEEDS) this.tell(feed, { type: 'Replayed' })
  }

  deploy(name: string, more: Parameters<typeof deploymentOf>[1] = {}): Deployment {
    const deployment = deploymentOf(name, more)
    this.#deployments.set(name, deployment)
    this.state.deploymentSeen(viewOf(deployment))
    this.#write()
    return deployment
  }

  roll(name: string, rollout: RolloutStatus): void {
    this.#rollouts.set(`shop/${name}`, rollout)
    this.#changed()
  }

  /** A device that is online. */
  join(name: string, labels: Record<string, string> = {}, isPinned = false): void {
    const device = deviceOf(name, labels, isPinned)
    this.#devices.set(name, device)
    this.state.deviceSeen(device)
    this.#seen.set(name, this.#clock.now())
    this.state.heartbeatSeen(this.#heartbeats.put(name, heartbeatCodec.encode({ boot: 'b', at: CREATED }, 0)))
    this.#write()
  }

  leave(name: string): void {
    this.state.heartbeatSeen(this.#heartbeats.delete(name))
    this.#changed()
  }

  say(device: string, deployment: string, more: Partial<State> = {}): void {
    const at = this.#clock.now().toISOString()
    const state: State = { phase: 'Running', uid: `uid-of-${deployment}`, revision: 1, at, ...more }
    this.state.stateSeen(this.#states.put(`${device}.shop.${deployment}`, stateCodec.encode(state, 1)))
    this.#changed()
  }

  recovery(): Recovery {
    return { ...summarizeSync(this.#latches), isLeading: true, brake: this.brake }
  }

  deployments() {
    return [...this.#deployments.values()].map(({ metadata }) => {
      const key = `shop/${metadata.name}`
      const aggregate = this.state.aggregate(key)
      if (aggregate === undefined) throw new Error(`no aggregate of ${key}`)
      return { key, aggregate, revision: 1, rollout: this.#rollouts.get(key), isDeleting: false }
    })
  }

  devices(): readonly DeviceRow[] {
    const counts = new Map([...this.#devices.keys()].map((name) => [name, zeros()]))
    for (const { metadata } of this.#deployments.values())
      for (const { device, phase } of this.ofDeployment(`shop/${metadata.name}`)) {
        const own = counts.get(device)
        if (own !== undefined) own[phase] += 1
      }
    return [...this.#devices.values()].map(({ name, labels, isPinned }) => ({
      name,
      labels,
      isAlive: this.#heartbeats.values.has(name),
      lastSeen: this.#seen.get(name),
      agentVersion: '0.1.0',
      isPinned,
      deployments: counts.get(name) ?? zeros(),
    }))
  }

  ofDeployment(key: string): readonly PlacementRow[] {
    return [...this.state.matched(key)].flatMap((known) => {
      if (known.deployment === undefined) return []
      const givenRevision: Desired | undefined = known.entry?.desired?.payload
      return [
        {
          deployment: key,
          device: known.placement.device,
          phase: placementPhase(known.deployment, known.device, known),
          givenRevision: givenRevision?.revision,
          answered: known.reported?.state.revision,
          message: known.reported?.state.message,
          at: known.reported?.state.at,
        },
      ]
    })
  }

  ofDevice(name: string): readonly PlacementRow[] {
    return [...this.#deployments.keys()].flatMap((deployment) =>
      this.ofDeployment(`shop/${deployment}`).filter(({ device }) => device === name),
    )
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #write(): void {
    for (const write of this.state.takeWrites())
      this.state.desiredSeen(
        write.kind === 'Put' ? this.#desired.put(write.key, write.bytes) : this.#desired.delete(write.key),
      )
    this.#changed()
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}

const zeros = (): Record<PlacementPhase, number> =>
  Object.fromEntries(PLACEMENT_PHASES.map((phase) => [phase, 0])) as Record<PlacementPhase, number>
