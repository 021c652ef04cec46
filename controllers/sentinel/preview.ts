/** What a SentinelConfig would change, before it is applied: SENTINEL-39. */
import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { readOverride } from './decision/backoff-override.ts'
import { readReadiness } from './decision/readiness.ts'
import type { ResourceBody } from './decision/resource.ts'
import { fixedPartition, formatShard, owns, parseSettings, type SentinelSettings } from './settings.ts'
import { describeOverlap, isOwned, parseShard, type Shard } from './sharding/ownership.ts'

export interface ConfigPreview {
  readonly name: string
  readonly resourceType: string
  readonly shard: string
  /** Of the resources of the type that it selects. */
  readonly ready: number
  readonly notReady: number
  /** Pulses a minute while no report comes and nothing changes; before, where the config is there already. */
  readonly pulsesPerMinute: number
  readonly pulsesPerMinuteBefore: number | undefined
  /** Ids that it would pulse and does not now, and the other way round. */
  readonly gains: readonly string[]
  readonly loses: readonly string[]
  /** A sentence about other configs that select the same; undefined when none does. */
  readonly overlap: string | undefined
  /** Ids of the type that no config would select. */
  readonly gaps: readonly string[]
}

export interface ConfigsAround {
  /** All configs of the namespace as they are. */
  readonly present: readonly SentinelConfig[]
  /** All configs that would be applied, also the one that is previewed. */
  readonly changed: readonly SentinelConfig[]
  /** Of the HyperFleet API, where a spec names none. */
  readonly defaultUrl?: string | undefined
}

/**
 * @param config as it would be
 * @param resources of its type @throws SettingsError
 */
export const previewConfig = (
  config: SentinelConfig,
  { present, changed, defaultUrl }: ConfigsAround,
  resources: readonly ResourceBody[],
): ConfigPreview => {
  const settings = parseSettings(config.spec, defaultUrl)
  const before = present.find((one) => isSame(one, config))
  const settingsBefore = before && parseShard(before, defaultUrl)?.config
  const after = [...present.filter((one) => !changed.some((other) => isSame(one, other))), ...changed]
    .filter(({ metadata }) => metadata.namespace === config.metadata.namespace)
    .map((one) => parseShard(one, defaultUrl))
    .filter((shard): shard is Shard => shard !== undefined)
    .filter(({ config: { resourceType, url } }) => resourceType === settings.resourceType && url === settings.url)
  const selected = select(settings, resources)
  const isSameSource = settingsBefore?.resourceType === settings.resourceType && settingsBefore.url === settings.url
  const selectedBefore = settingsBefore && isSameSource ? select(settingsBefore, resources) : []
  return {
    name: config.metadata.name,
    resourceType: settings.resourceType,
    shard: formatShard(settings),
    ready: selected.filter((body) => readReadiness(body).ready).length,
    notReady: selected.filter((body) => !readReadiness(body).ready).length,
    pulsesPerMinute: countPulses(settings, selected),
    pulsesPerMinuteBefore: settingsBefore && isSameSource ? countPulses(settingsBefore, selectedBefore) : undefined,
    gains: idsWithout(selected, selectedBefore),
    loses: idsWithout(selectedBefore, selected),
    overlap: describeOverlap({ name: config.metadata.name, config: settings }, after),
    gaps: resources.filter((body) => !isOwned(after, body)).map(({ id }) => id),
  }
}

const isSame = (a: SentinelConfig, b: SentinelConfig): boolean =>
  a.metadata.namespace === b.metadata.namespace && a.metadata.name === b.metadata.name

const select = (settings: SentinelSettings, resources: readonly ResourceBody[]): ResourceBody[] =>
  resources.filter((body) => owns(settings, fixedPartition(settings), body))

const idsWithout = (all: readonly ResourceBody[], without: readonly ResourceBody[]): string[] => {
  const known = new Set(without.map(({ id }) => id))
  return all.map(({ id }) => id).filter((id) => !known.has(id))
}

const MINUTE_MS = 60_000

/** Each resource by its own backoff, as if no report came; rounded to a tenth. */
const countPulses = (settings: SentinelSettings, bodies: readonly ResourceBody[]): number => {
  const perMinute = bodies.reduce((sum, body) => {
    const backoff = { ...settings.backoff, ...readOverride(body).backoff }
    return sum + MINUTE_MS / (readReadiness(body).ready ? backoff.ready : backoff.notReady)
  }, 0)
  return Math.round(perMinute * 10) / 10
}

/** Ids of a list that a person is shown. */
const MAX_SHOWN_IDS = 10

/** For people. */
export const formatConfigPreview = ({
  name,
  resourceType,
  shard,
  ready,
  notReady,
  pulsesPerMinute,
  pulsesPerMinuteBefore,
  gains,
  loses,
  overlap,
  gaps,
}: ConfigPreview): string => {
  const lines = [
    `selects ${ready + notReady} ${resourceType} (${shard}): ${ready} ready, ${notReady} not ready`,
    `pulses a minute without reports: ${pulsesPerMinute}${pulsesPerMinuteBefore === undefined ? '' : `, now ${pulsesPerMinuteBefore}`}`,
    `gains ${formatIds(gains)}`,
    `loses ${formatIds(loses)}`,
    `overlaps: ${overlap ?? 'none'}`,
    `gaps: ${gaps.length === 0 ? 'none' : `${formatIds(gaps)} selected by no SentinelConfig`}`,
  ]
  return `${name}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

const formatIds = (ids: readonly string[]): string => {
  if (ids.length === 0) return 'nothing'
  const more = ids.length > MAX_SHOWN_IDS ? ` and ${ids.length - MAX_SHOWN_IDS} more` : ''
  return `${ids.length}: ${ids.slice(0, MAX_SHOWN_IDS).join(', ')}${more}`
}
