/** The Sentinel's metrics. Names and labels of the first six are SENTINEL-30. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Reason } from './decision/decide.ts'
import type { Counts, Schedule } from './decision/schedule.ts'

export type Operation = 'fetch_resources' | 'create_event' | 'config_load'

const SHARD = ['shard', 'resource_type'] as const

/** Registers them; once per registry. */
export const createMetrics = (registry: Registry) => {
  const registers = [registry]
  return {
    pendingResources: new Gauge({
      name: 'hyperfleet_sentinel_pending_resources',
      help: 'Number of resources in this shard.',
      labelNames: SHARD,
      registers,
    }),
    eventsCreated: new Counter({
      name: 'hyperfleet_sentinel_events_created_total',
      help: 'Total number of events created.',
      labelNames: SHARD,
      registers,
    }),
    resourcesSkipped: new Counter({
      name: 'hyperfleet_sentinel_resources_skipped_total',
      help: 'Total number of resources skipped due to backoff.',
      labelNames: [...SHARD, 'ready_state'],
      registers,
    }),
    reconcileDuration: new Histogram({
      name: 'hyperfleet_sentinel_reconcile_duration_seconds',
      help: 'Time spent in reconciliation loop.',
      labelNames: SHARD,
      buckets: [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    apiErrors: new Counter({
      name: 'hyperfleet_sentinel_api_errors_total',
      help: 'Total API errors by operation (fetch_resources, create_event, config_load).',
      labelNames: [...SHARD, 'operation'],
      registers,
    }),
    configReloads: new Counter({
      name: 'hyperfleet_sentinel_config_reloads_total',
      help: 'Total SentinelConfig reloads.',
      labelNames: SHARD,
      registers,
    }),
    pulses: new Counter({
      name: 'hyperfleet_sentinel_pulses_total',
      help: 'Events created, by why: New, SpecChanged, Deleting, NotReadyBackoffExpired, ReadyBackoffExpired.',
      labelNames: [...SHARD, 'reason'],
      registers,
    }),
    malformedItems: new Counter({
      name: 'hyperfleet_sentinel_malformed_items_total',
      help: 'Items of the API that could not be read and were skipped.',
      labelNames: SHARD,
      registers,
    }),
    lastPoll: new Gauge({
      name: 'hyperfleet_sentinel_last_successful_poll_timestamp_seconds',
      help: 'When the resources of this shard were last known to be true, in seconds since the epoch.',
      labelNames: SHARD,
      registers,
    }),
    unownedResources: new Gauge({
      name: 'hyperfleet_sentinel_unowned_resources',
      help: 'Resources of the type that no SentinelConfig of the namespace selects.',
      labelNames: ['resource_type'],
      registers,
    }),
  }
}

export type Metrics = ReturnType<typeof createMetrics>

/** The metrics of one shard. */
export interface ShardMetrics {
  readonly shard: string
  readonly resourceType: string
  /** Every series of the shard exists from the start, so that rates and alerts see the first increase. */
  init(): void
  pulse(reason: Reason): void
  error(operation: Operation): void
  reload(): void
  malformed(): void
  /** One look at the shard: how long it took in seconds, and which resources wait for their backoff. */
  poll(seconds: number, waiting: Counts): void
  state(schedule: Pick<Schedule, 'size'>, currentAt: number | undefined): void
  /** This process looks after the shard no more. */
  remove(): void
}

/** @param shard the selector as text, never empty */
export const shardMetrics = (metrics: Metrics, shard: string, resourceType: string): ShardMetrics => {
  const labels = { shard, resource_type: resourceType }
  return {
    shard,
    resourceType,
    init() {
      metrics.eventsCreated.inc(labels, 0)
      metrics.configReloads.inc(labels, 0)
      metrics.malformedItems.inc(labels, 0)
      for (const ready_state of ['ready', 'not_ready']) metrics.resourcesSkipped.inc({ ...labels, ready_state }, 0)
      for (const operation of ['fetch_resources', 'create_event', 'config_load'])
        metrics.apiErrors.inc({ ...labels, operation }, 0)
      metrics.reconcileDuration.zero(labels)
      metrics.pendingResources.set(labels, 0)
    },
    pulse(reason) {
      metrics.eventsCreated.inc(labels)
      metrics.pulses.inc({ ...labels, reason })
    },
    error: (operation) => metrics.apiErrors.inc({ ...labels, operation }),
    reload: () => metrics.configReloads.inc(labels),
    malformed: () => metrics.malformedItems.inc(labels),
    poll(seconds, { ready, notReady }) {
      metrics.reconcileDuration.observe(labels, seconds)
      metrics.resourcesSkipped.inc({ ...labels, ready_state: 'ready' }, ready)
      metrics.resourcesSkipped.inc({ ...labels, ready_state: 'not_ready' }, notReady)
    },
    state({ size }, currentAt) {
      metrics.pendingResources.set(labels, size)
      if (currentAt !== undefined) metrics.lastPoll.set(labels, currentAt / 1_000)
    },
    remove() {
      metrics.pendingResources.remove(labels)
      metrics.lastPoll.remove(labels)
    },
  }
}
