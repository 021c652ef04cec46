/** A SentinelConfig's spec, checked and in the units of the loop. */
import type { SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { type Duration, DurationError, formatDuration, toMilliseconds } from '#operator/model/duration.ts'
import { formatSelector, matches, type Selector, SelectorError, selectorOf } from '#operator/model/selector.ts'
import type { Backoff } from './decision.ts'
import { ownerOf, slotsOf } from './shard.ts'

/** How the selected resources are divided further. */
export type AutoShard =
  | { readonly kind: 'none' }
  /** A fixed part: shard `index` of `shards`. */
  | { readonly kind: 'fixed'; readonly shards: number; readonly index: number }
  /** Every replica claims one of so many slots. */
  | { readonly kind: 'claimed'; readonly replicas: number }

export interface Config {
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
export class ConfigError extends Error {
  constructor(field: string, problem: string) {
    super(`spec.${field}: ${problem}`)
    this.name = 'ConfigError'
  }
}

/** Below, a loop would be a flood: 0s is the usual mistake. */
const SHORTEST = 100

/** The API server checks most of this too, but an older CRD, or a CRD without defaults, must not break a running Sentinel. @throws ConfigError */
export const parseConfig = (spec: SentinelConfigSpec): Config => ({
  resourceType: resourceTypeOf(spec.resourceType),
  backoff: {
    notReady: duration('backoffNotReady', spec.backoffNotReady ?? '10s'),
    ready: duration('backoffReady', spec.backoffReady ?? '30m'),
  },
  selector: selector(spec.shardSelector),
  autoShard: autoShardOf(spec.autoShard),
  url: urlOf(spec.hyperfleetAPI?.url),
  timeout: duration('hyperfleetAPI.timeout', spec.hyperfleetAPI?.timeout ?? '10s'),
  pollInterval: duration('pollInterval', spec.pollInterval ?? '5s'),
})

const selector = (given: SentinelConfigSpec['shardSelector']): Selector => {
  try {
    return selectorOf(given ?? {})
  } catch (error) {
    if (error instanceof SelectorError) throw new ConfigError('shardSelector', error.message)
    throw error
  }
}

const duration = (field: string, text: Duration): number => {
  try {
    const milliseconds = toMilliseconds(text)
    if (milliseconds < SHORTEST)
      throw new ConfigError(field, `${JSON.stringify(text)} is too short: write ${formatDuration(SHORTEST)} or more`)
    return milliseconds
  } catch (error) {
    if (error instanceof DurationError) throw new ConfigError(field, error.message)
    throw error
  }
}

const resourceTypeOf = (text: string | undefined): string => {
  if (text === undefined || !/^[a-z][a-z0-9-]*$/.test(text))
    throw new ConfigError(
      'resourceType',
      `${JSON.stringify(text)} is no resource type: write a plural such as clusters`,
    )
  return text
}

const urlOf = (text: string | undefined): string => {
  const url = text === undefined ? null : URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new ConfigError(
      'hyperfleetAPI.url',
      `${JSON.stringify(text)} is no base URL: write http(s)://host:port without a query`,
    )
  return url.href
}

const autoShardOf = (given: SentinelConfigSpec['autoShard']): AutoShard => {
  if (given === undefined) return { kind: 'none' }
  const { shards, index, replicas } = given
  if (replicas !== undefined && shards === undefined && index === undefined) return { kind: 'claimed', replicas }
  if (replicas === undefined && shards !== undefined && index !== undefined && index >= 0 && index < shards)
    return { kind: 'fixed', shards, index }
  throw new ConfigError('autoShard', 'write either shards and index (from 0 to shards-1), or replicas alone')
}

/** Whether two configs read the same resources from the same place, so that what is known of them stays true. */
export const sameResources = (a: Config, b: Config): boolean =>
  a.resourceType === b.resourceType && a.url === b.url && formatSelector(a.selector) === formatSelector(b.selector)

/** Which of the selected resources are this Sentinel's own; `members` are the slots that are claimed, for claimed slots. */
export interface Part {
  readonly slot: number
  readonly members: readonly number[]
}

/** The part that the spec alone decides; undefined where everything selected is this Sentinel's. */
export const fixedPart = ({ autoShard }: Config): Part | undefined =>
  autoShard.kind === 'fixed' ? { slot: autoShard.index, members: slotsOf(autoShard.shards) } : undefined

/** Does the resource belong to this Sentinel? Asked for every item, whatever the API was asked for. */
export const owns = (
  { selector }: Config,
  part: Part | undefined,
  { id, labels }: { readonly id: string; readonly labels: Readonly<Record<string, string>> },
): boolean => matches(selector, labels) && (part === undefined || ownerOf(id, part.members) === part.slot)

/** The shard as text, for metrics and status; never empty, and different for different parts of one selector. */
export const shardText = ({ selector, autoShard }: Config, slot?: number): string => {
  const selected = formatSelector(selector) || 'all'
  switch (autoShard.kind) {
    case 'none':
      return selected
    case 'fixed':
      return `${selected} [${autoShard.index}/${autoShard.shards}]`
    case 'claimed':
      return `${selected} [${slot ?? '?'}/${autoShard.replicas}]`
  }
}
