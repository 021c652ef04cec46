import type { SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import type { Metrics } from '../metrics.ts'
import type { SentinelSettings } from '../settings.ts'
import type { Tidying } from './tidying.ts'

export interface LoopOptions {
  /** The spec as it is now, and its generation. */
  spec(): { readonly spec: SentinelConfigSpec; readonly generation: number | undefined }
  /** Of the HyperFleet API, where the spec names none. */
  readonly defaultUrl: string | undefined
  /** Why an API must not be asked; undefined when it may. */
  refusal(url: string): string | undefined
  /** Until when an earlier Sentinel watched this shard (its text is given), in milliseconds since the epoch. */
  watchedUntil(shard: string): number | undefined
  /** Events that earlier Sentinels created for this object. */
  readonly pulsesBefore: number
  /** What asks for events, for their field `source`. */
  readonly source: string
  connect(settings: SentinelSettings): HyperFleetClient
  /** Something that the status tells has changed. */
  changed(): void
  /** The whole shard was read for the first time with this spec. */
  completed(): void
  readonly tidying: Tidying
  /** Records a Kubernetes event of type Warning. */
  warn(reason: string, message: string): void
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
}
