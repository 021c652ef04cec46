/** What was read of the fleet: Deployments, Devices, heartbeats and placements. It decides nothing. */
import { placementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { DecodedEntries } from './decoded-entries.ts'
import type { EntrySigner } from './entry-signer.ts'
import { Heartbeats } from './heartbeats.ts'
import { bytesOf, type KeyUpdate } from './key-update.ts'
import type { DesiredEntry, PlacementFacts } from './placement.ts'
import { PlacementIndex, type PlacementState } from './placement-state.ts'
import { SelectionIndex } from './selection-index.ts'
import { UndecidedDevices } from './undecided-devices.ts'
import type { DeploymentView, DeviceView } from './views.ts'

export class FleetFacts {
  readonly #deployments = new Map<string, DeploymentView>()
  readonly #devices = new Map<string, DeviceView>()
  readonly #selections = new SelectionIndex(this.#devices)
  readonly deployments: ReadonlyMap<string, DeploymentView> = this.#deployments
  readonly devices: ReadonlyMap<string, DeviceView> = this.#devices
  readonly heartbeats = new Heartbeats()
  readonly placements = new PlacementIndex()
  readonly entries = new DecodedEntries()
  readonly undecided = new UndecidedDevices()
  readonly #signer: EntrySigner

  constructor(signer: EntrySigner) {
    this.#signer = signer
  }

  setDeployment(deployment: DeploymentView): void {
    this.#deployments.set(deployment.key, deployment)
    this.#selections.deploymentSeen(deployment)
  }

  /** @returns whether it was there */
  deleteDeployment(key: string): boolean {
    this.#selections.deploymentDeleted(key)
    return this.#deployments.delete(key)
  }

  setDevice(device: DeviceView): void {
    this.#selections.deviceChanges(device.name, device)
    this.#devices.set(device.name, device)
  }

  /** @returns whether it was there */
  deleteDevice(name: string): boolean {
    this.#selections.deviceChanges(name, undefined)
    return this.#devices.delete(name)
  }

  /** The Devices that a Deployment may be for: no other one is. FLEET-126. */
  devicesFor(deployment: DeploymentView): Iterable<DeviceView> {
    return this.#selections.devicesOf(deployment)
  }

  /** The Deployments that may be for a Device, and those that could not say so of it before. FLEET-126. */
  *deploymentsFor(device: DeviceView): Iterable<DeploymentView> {
    const undecided = this.undecided.deploymentsOf(device.name)
    for (const key of new Set([...this.#selections.deploymentsOf(device), ...undecided])) {
      const deployment = this.#deployments.get(key)
      if (deployment !== undefined) yield deployment
    }
  }

  /** The facts of a placement, without the Deployment that has its slot. */
  of({ placement, deployment, entry, lastSigned, reported }: PlacementState): PlacementFacts {
    return {
      placement,
      deployment: this.deployments.get(deployment),
      device: this.devices.get(placement.device),
      entry,
      lastSigned,
      isSigning: this.#signer.signs,
      reported,
      isAlive: this.heartbeats.isAlive(placement.device),
      slotOwner: undefined,
    }
  }

  /** The slot that a placement's Deployment names; undefined when it names none. */
  slotOf({ deployment }: PlacementState): string | undefined {
    return this.deployments.get(deployment)?.slot
  }

  /** Makes the placement when the Deployment is for the device. @returns whether it is new that this can't be said, or can */
  addIfSelected(deployment: DeploymentView, device: DeviceView): boolean {
    const selection = deployment.selects(device)
    const why = selection.is === 'Unknown' ? selection.why : undefined
    const isChanged = this.undecided.note(deployment.key, device.name, why)
    if (selection.is !== 'Selected') return isChanged
    const [namespace = '', name = ''] = deployment.key.split('/')
    const placement = { device: device.name, namespace, deployment: name }
    this.placements.at(placement, placementKey(placement)).isMatched = true
    return isChanged
  }

  /** What a key has. @param update with its bytes @returns with it why nothing is known of the bytes, when that is so */
  readEntry(
    state: PlacementState,
    update: KeyUpdate & { readonly bytes: Uint8Array },
    isSeeded: boolean,
  ): { readonly entry: DesiredEntry; readonly problem?: MalformedEntry } {
    const { key, bytes, revision, at, signature = '' } = update
    const signers = this.#signer.findSigners(key, bytes, signature)
    const [isSigned, isVerified] = [this.#signer.isSigned(signers), this.#signer.isVerified(signers)]
    const entry = { bytes, signers, isSigned, isVerified, revision, isSeeded, at }
    try {
      return {
        entry: {
          ...entry,
          ...this.entries.decode(state.deployment, bytesOf(update) ?? bytes),
          isOfLaterRelease: false,
        },
      }
    } catch (problem) {
      if (!(problem instanceof MalformedEntry)) throw problem
      return { entry: { ...entry, desired: undefined, isOfLaterRelease: problem.reason === 'Schema' }, problem }
    }
  }
}
