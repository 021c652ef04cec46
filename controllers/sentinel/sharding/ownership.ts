/**
 * Which SentinelConfig owns which resource, across all of one resource type: none may be owned twice (pulsed twice),
 * none left out (never pulsed). Selectors are compared exactly, with a label set that both match as witness (SENTINEL-35, SENTINEL-36).
 */

import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { overlap } from '#operator/model/selector-overlap.ts'
import { fixedPartition, owns, parseSettings, type SentinelSettings, SettingsError } from '../settings.ts'

/** A SentinelConfig as the comparison needs it. */
export interface Shard {
  readonly name: string
  readonly config: SentinelSettings
}

/** What a check found for one SentinelConfig. */
export interface OwnershipFindings {
  /** A sentence about overlaps; undefined when there is none. */
  readonly overlap: string | undefined
  /** Undefined where another SentinelConfig reports it for the type. */
  readonly unowned: { readonly count: number; readonly problem: string | undefined } | undefined
}

/** Undefined for a spec that can't be run: it owns nothing. */
export const parseShard = ({ metadata, spec }: SentinelConfig, defaultUrl: string | undefined): Shard | undefined => {
  try {
    return { name: metadata.name, config: parseSettings(spec, defaultUrl) }
  } catch (error) {
    if (error instanceof SettingsError) return undefined
    throw error
  }
}

/** The others of the same namespace. */
export const otherShards = (
  configs: readonly SentinelConfig[],
  but: SentinelConfig,
  defaultUrl: string | undefined,
): Shard[] =>
  configs
    .filter(({ metadata: { namespace, name } }) => namespace === but.metadata.namespace && name !== but.metadata.name)
    .map((config) => parseShard(config, defaultUrl))
    .filter((claimant) => claimant !== undefined)

/** A sentence that names all configs that may pulse the same resources, with labels that show it; undefined when none does. */
export const describeOverlap = (claimant: Shard, others: readonly Shard[]): string | undefined => {
  const sentences = others
    .filter(({ name, config }) => name !== claimant.name && sameResourceType(claimant.config, config))
    .map((other) => {
      const witness = overlap(claimant.config.selector, other.config.selector)
      return witness && !areDisjointParts(claimant.config, other.config)
        ? describeWitness(other.name, witness)
        : undefined
    })
    .filter((sentence) => sentence !== undefined)
  return sentences.length === 0 ? undefined : sentences.join('; ')
}

const sameResourceType = (a: SentinelSettings, b: SentinelSettings): boolean =>
  a.resourceType === b.resourceType && a.url === b.url

/** Different shards of one division share nothing, whatever their selectors. */
const areDisjointParts = ({ autoShard: a }: SentinelSettings, { autoShard: b }: SentinelSettings): boolean =>
  a.kind === 'fixed' && b.kind === 'fixed' && a.shards === b.shards && a.index !== b.index

const describeWitness = (other: string, witness: Readonly<Record<string, string>>): string => {
  const labels = Object.entries(witness).map(([key, value]) => `${key}=${value}`)
  const example = labels.length === 0 ? 'one without labels' : `one with ${labels.join(',')}`
  return `${other} selects the same resources, for example ${example}`
}

/** Of several that could count resources without an owner, one does: the first by name. */
export const countsUnowned = (claimant: Shard, others: readonly Shard[]): boolean =>
  others.every(({ name, config }) => !sameResourceType(claimant.config, config) || claimant.name <= name)

/** Some SentinelConfig selects everything, so nothing has to be counted. */
export const selectsEverything = (claimants: readonly Shard[]): boolean =>
  claimants.some(({ config }) => config.selector.length === 0 && config.autoShard.kind !== 'fixed')

/** Is the resource selected by any config? Taken slots cover everything that their selector does. */
export const isOwned = (
  claimants: readonly Shard[],
  resource: { readonly id: string; readonly labels: Readonly<Record<string, string>> },
): boolean => claimants.some(({ config }) => owns(config, fixedPartition(config), resource))

/** The sentence about resources without an owner; undefined when there are none. */
export const describeUnowned = (
  unowned: number,
  example: string | undefined,
  resourceType: string,
): string | undefined =>
  unowned === 0
    ? undefined
    : `${unowned} of the ${resourceType} are selected by no SentinelConfig and never pulsed, for example ${example}: ` +
      'add a shard for them, or let the shardSelector of one that is there take them in'
