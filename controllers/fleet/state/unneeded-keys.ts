/**
 * Which keys of fleet-desired are deleted although no person deleted their Deployment: those that nothing needs any more, by what
 * is seen. What is seen may be wrong as a whole: a wrong namespace, missing rights, a restored cluster, a selector that a slip of
 * the pen changed. Then the brake holds them. FLEET-3, FLEET-4, FLEET-5, FLEET-61. Pure.
 */

import type { HeldDeletions, UnneededReason } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { type Placement, parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { type BrakeTimes, formatBrakeRecord, parseBrakeRecord } from '#operator/model/brake-record.ts'
import {
  type BrakeDecision,
  type BrakeLimits,
  type BrakeVerdict,
  DEFAULT_BRAKE_LIMITS,
  DeletionBrake,
  type InferredDeletion,
} from '#operator/model/deletion-brake.ts'

/** Each is deleted only while it still has its revision. */
export interface UnneededKey extends InferredDeletion {
  readonly placement: Placement
  /** Of the key. */
  readonly revision: number
  readonly reason: UnneededReason
  /** An operator before this one left it: it was there at the start, and this one never saw it needed. */
  readonly isInherited: boolean
}

/** @param hasDeployment it is there, and not being deleted */
export const reasonOf = (hasDeployment: boolean, hasDevice: boolean): UnneededReason => {
  if (!hasDeployment) return 'DeploymentGone'
  return hasDevice ? 'NotMatched' : 'DeviceGone'
}

/** Of inherited keys: how long the operator was away is not known, so in a small fleet a few of them are many. */
const INHERITED_KEY_LIMITS: BrakeLimits = { percent: 20, least: 5 }

/** Where a person releases the brake, on the Lease: its value is the release that the message names. */
export const RELEASE_ANNOTATION = 'fleet.nationtech.io/release-deletions'
/** Its former name. It is taken as well. */
export const FORMER_RELEASE_ANNOTATION = 'fleet.nationtech.io/release-orphans'

/** Where a leader keeps on the Lease what it deleted unasked: those that an operator before it left, `;`, the others. */
export const BRAKE_RECORD_ANNOTATION = 'fleet.nationtech.io/recent-deletions'

/** Deployments that a message names. */
const MAX_NAMED = 5

/** The brake of one leader, which takes over the count of the one before. FLEET-5, FLEET-61, RUNTIME-71. */
export class UnneededKeyBrake {
  readonly #inherited = new DeletionBrake<UnneededKey>(INHERITED_KEY_LIMITS, DEFAULT_BRAKE_LIMITS)
  readonly #others = new DeletionBrake<UnneededKey>()

  /**
   * @param total Keys that fleet-desired has.
   * @param released What a person wrote into the annotation.
   * @param now Milliseconds; a clock that only goes forward.
   * @returns what may be deleted now, and what waits for a person
   */
  decide(
    keys: readonly UnneededKey[],
    total: number,
    released: string | undefined,
    now: number,
  ): { readonly free: readonly UnneededKey[]; readonly held: HeldDeletions | undefined } {
    const input = { total, released, now }
    const decisions = [
      this.#inherited.decide({ ...input, deletions: keys.filter(({ isInherited }) => isInherited) }),
      this.#others.decide({ ...input, deletions: keys.filter(({ isInherited }) => !isInherited) }),
    ]
    return { free: decisions.flatMap(({ free }) => free), held: describeHeld(decisions) }
  }

  /** It was carried out. */
  deleted(key: UnneededKey, now: number): void {
    ;(key.isInherited ? this.#inherited : this.#others).deleted(key, now)
  }

  /** What a leader after this one must know; '' when nothing. @param more Keys that are about to be deleted. */
  record(more: readonly UnneededKey[], times: BrakeTimes): string {
    const inherited = more.filter(({ isInherited }) => isInherited)
    const others = more.filter(({ isInherited }) => !isInherited)
    return this.#recent(inherited, others, times.now)
      .map((recent) => formatBrakeRecord(recent, times))
      .join(';')
      .replace(/^;$/, '')
  }

  /** What it let through counts: a leader after this one must know. @param now as in `decide` */
  isCounting(now: number): boolean {
    return this.#recent([], [], now).some((recent) => recent.length > 0)
  }

  #recent(inherited: readonly UnneededKey[], others: readonly UnneededKey[], now: number) {
    return [this.#inherited.recent(inherited, now), this.#others.recent(others, now)]
  }

  /** Counts on from the record of the leader before. @param now as in `decide` */
  recall(record: string | undefined, now: number): void {
    const [inherited, others] = (record ?? '').split(';').map((part) => parseBrakeRecord(part, now))
    this.#inherited.recall(inherited ?? [])
    this.#others.recall(others ?? [])
  }
}

type Held = Extract<BrakeVerdict<UnneededKey>, { verdict: 'Held' }>

const describeHeld = (decisions: readonly BrakeDecision<UnneededKey>[]): HeldDeletions | undefined => {
  const held = decisions.flatMap(({ verdict }): Held[] => (verdict.verdict === 'Held' ? [verdict] : []))
  const [first] = held
  if (first === undefined) return undefined
  const keys = held.flatMap(({ deletions }) => deletions)
  const release = held.map((one) => one.release).join(',')
  const most = Math.min(...held.map(({ limit }) => limit))
  const message =
    `nothing needs ${keys.length} of ${first.total} keys any more, and at most ${most} are deleted unasked: ${summarize(keys)}. ` +
    howToRelease(release)
  return { count: keys.length, release, message, keys: keys.map(({ key, reason }) => ({ key, reason })) }
}

const howToRelease = (release: string): string =>
  'Until a person decides, devices keep what they have. Check that Deployments and Devices are all there, then set the ' +
  `annotation ${RELEASE_ANNOTATION}=${release}`

/** What is held of one Deployment, for people who need not see any other. */
export interface HeldOfDeployment {
  /** namespace/name */
  readonly deployment: string
  readonly message: string
}

/** Of each Deployment, those with most keys first. FLEET-108. @param lease what is annotated to release them, as namespace/name */
export const heldOfEach = ({ keys, release }: HeldDeletions, lease: string): readonly HeldOfDeployment[] => {
  const placed = keys.map(({ key, reason }) => ({ placement: parsePlacementKey(key), reason }))
  return [...Map.groupBy(placed, ({ placement: { namespace, deployment } }) => `${namespace}/${deployment}`)]
    .toSorted(([, { length: one }], [, { length: other }]) => other - one)
    .map(([deployment, own]) => ({
      deployment,
      message:
        `nothing needs these keys any more, and with all others they are too many to be deleted unasked: ${summarize(own)}. ` +
        `${howToRelease(release)} of the Lease ${lease}, which releases all that is held`,
    }))
}

const REASONS = {
  DeploymentGone: 'the Deployment is gone, or goes with its namespace',
  DeviceGone: 'their Devices are gone',
  NotMatched: 'it no longer selects them',
} as const satisfies Record<UnneededReason, string>

/** `shop/web on 30 devices (it no longer selects them), and 2 more`. */
const summarize = (keys: readonly Pick<UnneededKey, 'placement' | 'reason'>[]): string => {
  const groups = Map.groupBy(
    keys,
    ({ placement, reason }) => `${placement.namespace}/${placement.deployment} ${reason}`,
  )
  const named = [...groups.values()]
    .toSorted((a, b) => b.length - a.length)
    .slice(0, MAX_NAMED)
    .flatMap(([one, ...more]) => {
      if (one === undefined) return []
      const count = more.length + 1
      const { namespace, deployment } = one.placement
      return [`${namespace}/${deployment} on ${count} ${count === 1 ? 'device' : 'devices'} (${REASONS[one.reason]})`]
    })
  const rest = groups.size - named.length
  return rest > 0 ? `${named.join(', ')}, and ${rest} more` : named.join(', ')
}
