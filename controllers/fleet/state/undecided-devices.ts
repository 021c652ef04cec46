/** The devices of which a Deployment's expression can't say whether they are meant: nothing is added there and nothing removed. FLEET-32, FLEET-115. */

export interface Undecided {
  readonly count: number
  /** The first of them by name, and why it can't be said. */
  readonly device: string
  readonly why: string
}

export class UndecidedDevices {
  /** By Deployment, then by device: why. */
  readonly #reasons = new Map<string, Map<string, string>>()

  /** @param why undefined when it is decided @returns whether that is new */
  note(deployment: string, device: string, why: string | undefined): boolean {
    const reasons = this.#reasons.get(deployment)
    if (reasons?.get(device) === why) return false
    if (why !== undefined) this.#reasons.set(deployment, (reasons ?? new Map<string, string>()).set(device, why))
    else if (reasons?.delete(device) && reasons.size === 0) this.#reasons.delete(deployment)
    return true
  }

  /** Its devices are judged anew, or it is gone. */
  forgetDeployment(deployment: string): void {
    this.#reasons.delete(deployment)
  }

  /** The Deployments that can't say of a device. */
  deploymentsOf(device: string): readonly string[] {
    return [...this.#reasons].flatMap(([deployment, reasons]) => (reasons.has(device) ? deployment : []))
  }

  /** @returns the Deployments that could not say */
  forgetDevice(device: string): readonly string[] {
    return this.deploymentsOf(device).filter((deployment) => this.note(deployment, device, undefined))
  }

  /** Undefined when all is decided. */
  of(deployment: string): Undecided | undefined {
    const reasons = this.#reasons.get(deployment)
    const [device] = [...(reasons?.keys() ?? [])].toSorted()
    if (reasons === undefined || device === undefined) return undefined
    return { count: reasons.size, device, why: reasons.get(device) ?? '' }
  }
}
