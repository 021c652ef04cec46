/**
 * Which Deployments may be for a Device by its labels, and the other way round: of 1,000 Deployments and 100,000 Devices all pairs are
 * never gone through. It leaves out only what a selector can't match; the selection itself decides. FLEET-126. Pure.
 */
import type { NeededLabel } from '../selection/selection.ts'
import { ItemsByLabel } from './items-by-label.ts'
import type { DeploymentView, DeviceView } from './views.ts'

type SelectingDeployment = Pick<DeploymentView, 'key' | 'needs'>
type LabelledDevice = Pick<DeviceView, 'name' | 'labels'>

export class SelectionIndex<D extends LabelledDevice> {
  readonly #devices: ReadonlyMap<string, D>
  readonly #needs = new Map<string, readonly NeededLabel[]>()
  /** The one of its needs that a Deployment is found by; undefined for one that needs no label. */
  readonly #foundBy = new Map<string, NeededLabel | undefined>()
  readonly #needless = new Set<string>()
  readonly #deployments = new ItemsByLabel()
  /** By the labels alone that any Deployment needs. */
  readonly #devicesByLabel = new ItemsByLabel()
  /** How many Deployments need a label. */
  readonly #users = new Map<string, number>()

  /** @param devices as they are: a Device is changed there after `deviceChanges` was called. */
  constructor(devices: ReadonlyMap<string, D>) {
    this.#devices = devices
  }

  deploymentSeen({ key, needs }: SelectingDeployment): void {
    const before = this.#needs.get(key) ?? []
    // First what it needs now: what it needs still is not indexed anew.
    for (const need of needs) this.#use(need.key)
    this.#takeOut(key)
    for (const need of before) this.#release(need.key)
    this.#needs.set(key, needs)
    // By the label that the fewest others are found by: all may ask for one role, and each for a site of its own.
    const [rarest] = needs.toSorted((a, b) => this.#deployments.count(a) - this.#deployments.count(b))
    this.#foundBy.set(key, rarest)
    if (rarest === undefined) this.#needless.add(key)
    else this.#deployments.add(key, rarest)
  }

  deploymentDeleted(key: string): void {
    this.#takeOut(key)
    for (const need of this.#needs.get(key) ?? []) this.#release(need.key)
    this.#needs.delete(key)
  }

  /** @param after undefined when the Device is gone */
  deviceChanges(name: string, after: LabelledDevice | undefined): void {
    const [old, labels] = [this.#devices.get(name)?.labels ?? {}, after?.labels ?? {}]
    for (const [key, value] of Object.entries(old))
      if (labels[key] !== value) this.#devicesByLabel.delete(name, { key, values: [value] })
    for (const [key, value] of Object.entries(labels))
      if (this.#users.has(key) && old[key] !== value) this.#devicesByLabel.add(name, { key, values: [value] })
  }

  /** The Devices that a Deployment may be for. */
  *devicesOf({ needs }: SelectingDeployment): Iterable<D> {
    const [rarest] = needs.toSorted((a, b) => this.#devicesByLabel.count(a) - this.#devicesByLabel.count(b))
    if (rarest === undefined) yield* this.#devices.values()
    else
      for (const name of this.#devicesByLabel.of(rarest)) {
        const device = this.#devices.get(name)
        if (device !== undefined) yield device
      }
  }

  /** The Deployments that may be for a Device. */
  *deploymentsOf({ labels }: LabelledDevice): Iterable<string> {
    yield* this.#needless
    for (const [key, value] of Object.entries(labels)) yield* this.#deployments.of({ key, values: [value] })
  }

  #takeOut(deployment: string): void {
    const foundBy = this.#foundBy.get(deployment)
    if (foundBy !== undefined) this.#deployments.delete(deployment, foundBy)
    this.#needless.delete(deployment)
    this.#foundBy.delete(deployment)
  }

  #use(key: string): void {
    const users = this.#users.get(key) ?? 0
    this.#users.set(key, users + 1)
    if (users > 0) return
    for (const { name, labels } of this.#devices.values()) {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined
      if (value !== undefined) this.#devicesByLabel.add(name, { key, values: [value] })
    }
  }

  #release(key: string): void {
    const users = (this.#users.get(key) ?? 0) - 1
    if (users > 0) {
      this.#users.set(key, users)
      return
    }
    this.#users.delete(key)
    this.#devicesByLabel.forget(key)
  }
}
