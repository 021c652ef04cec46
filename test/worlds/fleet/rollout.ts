/** A rollout by its decisions alone: devices that do as the test says, and a clock that the test sets. */
import type { RolloutSpec, RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { admittedDevices, advanceRollout, type RolloutInput } from '#controllers/fleet/rollout/advance.ts'
import { parseControls } from '#controllers/fleet/rollout/annotations.ts'
import type { RolloutDevice } from '#controllers/fleet/rollout/member.ts'

export const SPEC: RolloutSpec = {
  strategy: 'Batches',
  batches: [{ selector: { matchLabels: { ring: 'canary' } } }, { limit: '50%' }],
  approval: 'Automatic',
  successThreshold: 90,
  updateTimeout: '10m',
  offlineGrace: '5m',
  onFailure: 'Suspend',
  paused: false,
}
const MINUTE = 60_000

export const memberOf = (name: string, labels: Record<string, string> = {}): RolloutDevice => ({
  name,
  labels,
  joinedAt: 0,
  stage: 'Waiting',
  assignedAt: undefined,
  isAlive: true,
  offlineSince: undefined,
  isHeld: false,
  isHealthy: true,
  isDown: false,
})

/** Two canaries and eight others, in two stores. */
export const STORES: readonly RolloutDevice[] = [
  ...['c1', 'c2'].map((name) => memberOf(name, { ring: 'canary', store: 's1' })),
  ...['d1', 'd2', 'd3', 'd4', 'd5', 'd6', 'd7', 'd8'].map((name, i) => memberOf(name, { store: `s${1 + (i % 2)}` })),
]

/** A rollout of revision 2, or of one that takes it back, over devices that do as the test says, with a clock that the test sets. */
export class Rollout {
  readonly devices: Map<string, RolloutDevice>
  spec: RolloutSpec
  status: RolloutStatus | undefined
  minutes = 0
  annotations: Record<string, string> = {}
  goBackTo: number | undefined
  isLate = false
  isRestoring = false

  constructor(spec: Partial<RolloutSpec> = {}, devices: readonly RolloutDevice[] = STORES) {
    this.spec = { ...SPEC, ...spec }
    this.devices = new Map(devices.map((one) => [one.name, one]))
  }

  get input(): RolloutInput {
    return {
      spec: this.spec,
      id: { uid: 'u', revision: this.isRestoring ? 3 : 2 },
      from: 1,
      isRestoring: this.isRestoring,
      before: this.status,
      members: [...this.devices.values()],
      controls: parseControls(this.annotations),
      now: new Date(Date.UTC(2026, 0, 1) + this.minutes * MINUTE),
    }
  }

  /** One step, after which every device that may have the revision has it. @returns those that got it */
  run(): string[] {
    const { status, goBackTo, isLate } = advanceRollout(this.input)
    // What is stored is JSON.
    this.status = JSON.parse(JSON.stringify(status)) as RolloutStatus
    this.goBackTo = goBackTo
    this.isLate = isLate
    const names = [...admittedDevices(this.input, this.status)].filter(
      (name) => this.devices.get(name)?.stage === 'Waiting',
    )
    this.set(names, { stage: 'Working', isHealthy: false, isDown: false, assignedAt: this.input.now.getTime() })
    return names.toSorted()
  }

  /** The revision is taken back: a device that was given it waits again, all others have the older workload. */
  goBack(spec: Partial<RolloutSpec> = {}): void {
    this.spec = { ...this.spec, ...spec }
    this.isRestoring = true
    for (const { name, stage } of this.devices.values())
      this.set([name], { stage: stage === 'Waiting' ? 'Succeeded' : 'Waiting' })
  }

  set(names: readonly string[], change: Partial<RolloutDevice>): void {
    for (const name of names) {
      const before = this.devices.get(name)
      if (before !== undefined) this.devices.set(name, { ...before, ...change })
    }
  }

  succeed(...names: readonly string[]): void {
    this.set(names, { stage: 'Succeeded', isHealthy: true, isDown: false })
  }

  fail(...names: readonly string[]): void {
    this.set(names, { stage: 'Failed', isHealthy: false, isDown: true })
  }

  leave(...names: readonly string[]): void {
    this.set(names, { isAlive: false, offlineSince: this.input.now.getTime() })
  }

  get stands(): string {
    return `${this.status?.phase} ${this.status?.batch}/${this.status?.batches.length}`
  }
}
