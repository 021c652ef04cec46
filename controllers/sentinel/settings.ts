/** A SentinelConfig's spec, checked and in the units of the loop. */

import { SENTINEL_DEFAULTS, type SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { type Duration, DurationError, formatDuration, toMilliseconds } from '#operator/model/duration.ts'
import { formatSelector, matches, type Selector, SelectorError, selectorOf } from '#operator/model/selector.ts'
import { currentUrl } from '#services/hyperfleet-api/client/trusted-origin.ts'
import type { Backoff } from './decision/decide.ts'
import { SENTINEL_ERRORS } from './errors.ts'
import { slotNumbers, slotOf } from './sharding/rendezvous.ts'

/** How the selected resources are divided further. */
export type AutoShard =
  | { readonly kind: 'none' }
  /** A fixed part: shard `index` of `shards`. */
  | { readonly kind: 'fixed'; readonly shards: number; readonly index: number }
  /** Every replica claims one of so many slots. */
  | { readonly kind: 'leased'; readonly replicas: number }

export interface SentinelSettings {
  readonly resourceType: string
  readonly backoff: Backoff
  readonly selector: Selector
  readonly autoShard: AutoShard
  readonly url: string
  /** Of one API request, in milliseconds. */
  readonly timeout: number
  /** Milliseconds. */
  readonly pollInterval: number
}

/** A spec that can't be run; the message names the field and says what to write. */
export class SettingsError extends errorOf(SENTINEL_ERRORS, 'SettingsError') {
  constructor(field: string, problem: string) {
    super(`spec.${field}: ${problem}`)
  }
}

/** Below, a loop would be a flood: 0s is the usual mistake. */
const MIN_INTERVAL_MS = 100

/**
 * The API server checks most of this too, but an older CRD, or a CRD without defaults, must not break a running Sentinel.
 * @param defaultUrl of the HyperFleet API, where the spec names none (SENTINEL-44)
 * @throws SettingsError
 */
export const parseSettings = (spec: SentinelConfigSpec, defaultUrl?: string): SentinelSettings => ({
  resourceType: checkResourceType(spec.resourceType),
  backoff: parseBackoff(spec),
  selector: parseShardSelector(spec.shardSelector),
  autoShard: parseAutoShard(spec.autoShard),
  url: currentUrl(parseUrl(spec.hyperfleetAPI?.url ?? defaultUrl), { url: defaultUrl }),
  timeout: parseInterval('hyperfleetAPI.timeout', spec.hyperfleetAPI?.timeout ?? SENTINEL_DEFAULTS.timeout),
  pollInterval: parseInterval('pollInterval', spec.pollInterval ?? SENTINEL_DEFAULTS.pollInterval),
})

const parseBackoff = (spec: SentinelConfigSpec): Backoff => {
  const notReady = parseInterval('backoffNotReady', spec.backoffNotReady ?? SENTINEL_DEFAULTS.backoffNotReady)
  const ready = parseInterval('backoffReady', spec.backoffReady ?? SENTINEL_DEFAULTS.backoffReady)
  if (spec.backoffNotReadyMax === undefined) return { notReady, ready }
  const notReadyMax = parseInterval('backoffNotReadyMax', spec.backoffNotReadyMax)
  if (notReadyMax < notReady)
    throw new SettingsError(
      'backoffNotReadyMax',
      `${JSON.stringify(spec.backoffNotReadyMax)} is shorter than backoffNotReady: write ${formatDuration(notReady)} or more`,
    )
  return { notReady, ready, notReadyMax }
}

const parseShardSelector = (spec: SentinelConfigSpec['shardSelector']): Selector => {
  try {
    return selectorOf(spec ?? {})
  } catch (error) {
    if (error instanceof SelectorError) throw new SettingsError('shardSelector', error.message)
    throw error
  }
}

const parseInterval = (field: string, text: Duration): number => {
  try {
    const milliseconds = toMilliseconds(text)
    if (milliseconds < MIN_INTERVAL_MS)
      throw new SettingsError(
        field,
        `${JSON.stringify(text)} is too short: write ${formatDuration(MIN_INTERVAL_MS)} or more`,
      )
    return milliseconds
  } catch (error) {
    if (error instanceof DurationError) throw new SettingsError(field, error.message)
    throw error
  }
}

const checkResourceType = (text: string | undefined): string => {
  if (text === undefined || !/^[a-z][a-z0-9-]*$/.test(text))
    throw new SettingsError(
      'resourceType',
      `${JSON.stringify(text)} is no resource type: write a plural such as clusters`,
    )
  return text
}

const parseUrl = (text: string | undefined): string => {
  if (text === undefined)
    throw new SettingsError('hyperfleetAPI.url', 'is absent: write it, or start the manager with --hyperfleet-api-url')
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new SettingsError(
      'hyperfleetAPI.url',
      `${JSON.stringify(text)} is no base URL: write http(s)://host:port without a query`,
    )
  return url.href
}

const parseAutoShard = (spec: SentinelConfigSpec['autoShard']): AutoShard => {
  if (spec === undefined) return { kind: 'none' }
  const { shards, index, replicas } = spec
  if (replicas !== undefined && shards === undefined && index === undefined) return { kind: 'leased', replicas }
  if (replicas === undefined && shards !== undefined && index !== undefined && index >= 0 && index < shards)
    return { kind: 'fixed', shards, index }
  throw new SettingsError('autoShard', 'write either shards and index (from 0 to shards-1), or replicas alone')
}

/** Whether two configs read the same resources from the same place, so that what is known of them stays true. */
export const sameResources = (a: SentinelSettings, b: SentinelSettings): boolean =>
  a.resourceType === b.resourceType && a.url === b.url && formatSelector(a.selector) === formatSelector(b.selector)

/** Which of the selected resources are this Sentinel's own; `members` are the slots that are claimed, for claimed slots. */
export interface Partition {
  readonly slot: number
  readonly members: readonly number[]
}

/** The part that the spec alone decides; undefined where everything selected is this Sentinel's. */
export const fixedPartition = ({ autoShard }: SentinelSettings): Partition | undefined =>
  autoShard.kind === 'fixed' ? { slot: autoShard.index, members: slotNumbers(autoShard.shards) } : undefined

/** Does the resource belong to this Sentinel? Asked for every item, whatever the API was asked for. */
export const owns = (
  { selector }: SentinelSettings,
  part: Partition | undefined,
  { id, labels }: { readonly id: string; readonly labels: Readonly<Record<string, string>> },
): boolean => matches(selector, labels) && (part === undefined || slotOf(id, part.members) === part.slot)

/** The shard as text, for metrics and status; never empty, and different for different parts of one selector. */
export const formatShard = ({ selector, autoShard }: SentinelSettings, slot?: number): string => {
  const selected = formatSelector(selector) || 'all'
  switch (autoShard.kind) {
    case 'none':
      return selected
    case 'fixed':
      return `${selected} [${autoShard.index}/${autoShard.shards}]`
    case 'leased':
      return `${selected} [${slot ?? '?'}/${autoShard.replicas}]`
  }
}
