/** What was read of the fleet: Deployments, Devices, heartbeats and placements. It decides nothing. */
import { equalBytes } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { placementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { Heartbeats } from './heartbeats.ts'
import type { DesiredEntry, PlacementFacts } from './placement.ts'
import { PlacementIndex, type PlacementState } from './placement-state.ts'
import type { DeploymentView, DeviceView } from './views.ts'

type DecodedEntry = Pick<DesiredEntry, 'bytes' | 'desired'>

export class FleetFacts {
  readonly deployments = new Map<string, DeploymentView>()
  readonly devices = new Map<string, DeviceView>()
  readonly heartbeats = new Heartbeats()
  readonly placements = new PlacementIndex()
  /** The value that was decoded last, by Deployment. */
  readonly #lastDecoded = new Map<string, DecodedEntry>()

  /** The facts of a placement, without the Deployment that has its slot. */
  of({ placement, deployment, entry, reported }: PlacementState): PlacementFacts {
    return {
      placement,
      deployment: this.deployments.get(deployment),
      device: this.devices.get(placement.device),
      entry,
      reported,
      isAlive: this.heartbeats.isAlive(placement.device),
      slotOwner: undefined,
    }
  }

  /** The slot that a placement's Deployment names; undefined when it names none. */
  slotOf({ deployment }: PlacementState): string | undefined {
    return this.deployments.get(deployment)?.slot
  }

  /** Makes the placement when the Deployment is for the device. */
  addIfSelected(deployment: DeploymentView, device: DeviceView): void {
    if (deployment.selects(device).is !== 'Selected') return
    const [namespace = '', name = ''] = deployment.key.split('/')
    const placement = { device: device.name, namespace, deployment: name }
    this.placements.at(placement, placementKey(placement)).isMatched = true
  }

  /** Devices of a Deployment have the same bytes, so they are decoded and kept once. @throws MalformedEntry */
  decode({ deployment }: PlacementState, bytes: Uint8Array): DecodedEntry {
    const last = this.#lastDecoded.get(deployment)
    if (last !== undefined && equalBytes(last.bytes, bytes)) return last
    const decoded = { bytes, desired: desiredCodec.decode(bytes) }
    this.#lastDecoded.set(deployment, decoded)
    return decoded
  }
}
