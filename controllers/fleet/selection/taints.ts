/** Taints of devices and tolerations of Deployments, with Kubernetes' rules. FLEET-31, FLEET-33. Pure. */
import type { Taint, Toleration } from '#apis/fleet.nationtech.io/v1alpha1/taint.ts'

/** What the operator taints a device with that has no heartbeat; in its status, so that every replica sees the same. */
export const UNREACHABLE = 'fleet.nationtech.io/unreachable'

/** @param offlineSince When its heartbeat expired. */
export const unreachableTaint = (offlineSince: Date): Taint => ({
  key: UNREACHABLE,
  effect: 'NoExecute',
  timeAdded: offlineSince.toISOString(),
})

/** Devices come and go: without a word on it, a Deployment stays on one that is offline. */
const TOLERATE_UNREACHABLE: Toleration = { key: UNREACHABLE, operator: 'Exists' }

const tolerates = ({ key, operator, value = '', effect }: Toleration, taint: Taint): boolean =>
  (effect === undefined || effect === taint.effect) &&
  (key === undefined || key === taint.key) &&
  (operator === 'Exists' || value === (taint.value ?? ''))

/** When a taint ceases to be borne, in milliseconds: -Infinity when it never is, Infinity when it always is. */
const toleratedUntil = (taint: Taint, tolerations: readonly Toleration[]): number => {
  const all = tolerations.some(({ key }) => key === UNREACHABLE) ? tolerations : [...tolerations, TOLERATE_UNREACHABLE]
  const ends = all
    .filter((toleration) => tolerates(toleration, taint))
    .map(({ tolerationSeconds }) => {
      if (tolerationSeconds === undefined || taint.effect !== 'NoExecute') return Number.POSITIVE_INFINITY
      // A taint without a time was always there.
      return taint.timeAdded === undefined
        ? Number.NEGATIVE_INFINITY
        : Date.parse(taint.timeAdded) + tolerationSeconds * 1_000
    })
  return Math.max(Number.NEGATIVE_INFINITY, ...ends)
}

export type TaintVerdict =
  | { readonly is: 'Free' }
  /** What the device has stays, and nothing new comes. */
  | { readonly is: 'Held'; readonly taint: Taint }
  /** What the device has goes. */
  | { readonly is: 'Evicted'; readonly taint: Taint }

/**
 * What the taints of a device mean for a Deployment.
 * @returns also when time alone changes that, in milliseconds since the epoch; undefined when it never does
 */
export const judgeTaints = (
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  now: Date,
): TaintVerdict & { readonly changesAt?: number } => {
  const judged = taints.map((taint) => ({ taint, until: toleratedUntil(taint, tolerations) }))
  const met = judged.filter(({ until }) => until <= now.getTime())
  const evicting = met.find(({ taint }) => taint.effect === 'NoExecute')
  if (evicting !== undefined) return { is: 'Evicted', taint: evicting.taint }
  const changesAt = Math.min(...judged.map(({ until }) => until).filter((until) => until > now.getTime()))
  const change = Number.isFinite(changesAt) && { changesAt }
  const holding = met[0]
  return holding === undefined ? { is: 'Free', ...change } : { is: 'Held', taint: holding.taint, ...change }
}

/** As kubectl writes it. */
export const formatTaint = ({ key, value, effect }: Taint): string =>
  `${key}${value === undefined || value === '' ? '' : `=${value}`}:${effect}`
