/** What a valid spec brings to life: the shard's schedule, its observer and its metrics. */
import type { Logger } from '#operator/model/log.ts'
import { Schedule } from '../decision/schedule.ts'
import { type Metrics, type ShardMetrics, shardMetrics } from '../metrics.ts'
import { formatShard, type Partition, type SentinelSettings } from '../settings.ts'
import { ShardObserver } from './observe.ts'

export interface ActiveShard {
  readonly settings: SentinelSettings
  readonly metrics: ShardMetrics
  readonly schedule: Schedule
  readonly observer: ShardObserver
}

export interface ActiveShardDeps {
  /** The shard that is active when this is asked. */
  current(): ActiveShard | undefined
  partition(): Partition | undefined
  /** Until when an earlier Sentinel watched the shard, in milliseconds since the epoch. */
  watchedUntil(): number | undefined
  /** Records a Kubernetes event of type Warning. */
  warn(reason: string, message: string): void
  readonly metrics: Metrics
  readonly log: Logger
}

/** The shard of these settings; what was known of the same resource type at the same API stays known. */
export const activateShard = (settings: SentinelSettings, deps: ActiveShardDeps): ActiveShard => {
  const before = deps.current()
  const isSameType = before?.settings.resourceType === settings.resourceType && before.settings.url === settings.url
  if (before === undefined || !isSameType)
    return { settings, metrics: useMetrics(settings, deps), ...empty(settings, deps) }
  before.schedule.setBackoff(settings.backoff)
  return { settings, metrics: useMetrics(settings, deps), schedule: before.schedule, observer: before.observer }
}

/** The same metrics for the same shard; another shard's end where they are. */
export const useMetrics = (
  settings: SentinelSettings,
  { current, partition, metrics }: ActiveShardDeps,
): ShardMetrics => {
  const before = current()?.metrics
  const [shard, resourceType] = [formatShard(settings, partition()?.slot), settings.resourceType]
  if (before?.shard === shard && before.resourceType === resourceType) return before
  before?.remove()
  const used = shardMetrics(metrics, shard, resourceType)
  used.init()
  return used
}

const empty = (settings: SentinelSettings, deps: ActiveShardDeps): Pick<ActiveShard, 'schedule' | 'observer'> => {
  const { current, partition, watchedUntil, warn, log } = deps
  const schedule = new Schedule(settings.backoff)
  const observer = new ShardObserver({
    schedule,
    settings: () => current()?.settings ?? settings,
    partition,
    watchedUntil,
    malformed: () => current()?.metrics.malformed(),
    warn: (reason, sentence) => {
      log.warn(`sentinel: ${sentence}`, { reason })
      warn(reason, sentence)
    },
  })
  return { schedule, observer }
}
