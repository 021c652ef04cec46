/** The daemon of one SentinelConfig: its loop, its status, and its slot where slots are claimed. */
import { SentinelConfig, type SentinelConfigStatus } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { untilAborted } from '#lib/abort/until-aborted.ts'
import { guardedLookup } from '#lib/egress/guarded-lookup.ts'
import { httpAllowlist } from '#lib/egress/http-allowlist.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import { createHyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { isTrustedOrigin } from '#services/hyperfleet-api/client/trusted-origin.ts'
import { PulseLoop } from './loop/pulse-loop.ts'
import { Tidying } from './loop/tidying.ts'
import type { Metrics } from './metrics.ts'
import { runUntilFirstEnds } from './run-until-first-ends.ts'
import type { SentinelSettings } from './settings.ts'
import type { OwnershipCheck } from './sharding/ownership-check.ts'
import { acquireSlot } from './sharding/slots.ts'
import { buildStatus } from './status/status.ts'

export interface SentinelDaemonDeps {
  /** What time it is for resources; leases and the pace of writing go by the operator's clock. */
  readonly clock: Clock
  readonly metrics: Metrics
  /** Of this program, for `User-Agent`. */
  readonly version: string
  /** Of this process, for the leases of claimed slots. */
  readonly identity: string
  /** The HyperFleet API of SentinelConfigs that name none, and the only one that gets the token. */
  readonly hyperfleetApiUrl?: string | undefined
  /** Prefixes of the URLs of others that they may name. */
  readonly httpTargets?: readonly string[]
  /** File with the bearer token for that API. */
  readonly hyperfleetApiTokenFile?: string | undefined
  /** File with the authorities that it is known by. */
  readonly hyperfleetApiCa?: string | undefined
  /** SENTINEL-46. */
  readonly collectGarbage: () => void
  /** Looks which other configs cover the same resources, and which resources none covers. */
  readonly check: OwnershipCheck
  /** The loops that run in this process, by uid of their SentinelConfig. */
  readonly loops: Map<string, PulseLoop>
}

/** The replicas of this SentinelConfig work side by side, each on a slot of its own. */
export const usesSlotLeases = ({ spec }: SentinelConfig): boolean => spec.autoShard?.replicas !== undefined

/** Otherwise one works and the others stand by. */
export const sentinelLease = ({ metadata }: SentinelConfig): { name: string; namespace: string } => ({
  name: `sentinel-${metadata.name}`,
  namespace: metadata.namespace ?? 'default',
})

export const sentinelDaemon =
  (deps: SentinelDaemonDeps) =>
  async (context: DaemonContext<SentinelConfig>): Promise<void> => {
    const { uid, name } = context.object.metadata
    const { clock, metrics, version, loops } = deps
    const { hyperfleetApiUrl, hyperfleetApiTokenFile, hyperfleetApiCa } = deps
    const trusted = { url: hyperfleetApiUrl, tokenFile: hyperfleetApiTokenFile, caFile: hyperfleetApiCa }
    const wakeSignal = new WakeSignal(context.clock)
    const allowlist = httpAllowlist(deps.httpTargets ?? [], '--sentinel-http-targets')
    const { log, signal } = context
    // Not from the cache: what the Sentinel before us wrote last says what it has already pulsed.
    const before = (await context.api.get(SentinelConfig, name, context.namespace))?.status
    const loop = new PulseLoop({
      spec: () => ({ spec: context.spec, generation: context.object.metadata.generation }),
      defaultUrl: hyperfleetApiUrl,
      refusal: (url) => {
        if (trusted.url === undefined || isTrustedOrigin(url, trusted)) return undefined
        const refused = allowlist.refusal(url)
        return refused && `${refused}, and it is not the API of --hyperfleet-api-url`
      },
      watchedUntil: (shard) =>
        before?.shard === shard && before.lastPollTime !== undefined ? Date.parse(before.lastPollTime) : undefined,
      source: `hyperfleet-sentinel/${name}`,
      pulsesBefore: before?.pulses ?? 0,
      connect: (config: SentinelSettings) =>
        createHyperFleetClient({
          url: config.url,
          timeout: config.timeout,
          userAgent: `muster-sentinel/${version} (${name})`,
          ...(isTrustedOrigin(config.url, trusted)
            ? { tokenFile: trusted.tokenFile, caFile: trusted.caFile }
            : { lookup: guardedLookup }),
          clock,
        }),
      changed: () => wakeSignal.wake(),
      completed: () => {
        deps
          .check(context.object, { log, signal })
          .catch((error: unknown) =>
            log.error(
              'shards could not be compared with those of other SentinelConfigs, the next sweep compares them',
              { error },
            ),
          )
      },
      tidying: new Tidying(deps.collectGarbage, before?.pulses ?? 0),
      warn: (reason, message) => context.events.warning(reason, message),
      metrics,
      clock,
      log,
    })
    loops.set(uid, loop)
    try {
      await runUntilFirstEnds(
        signal,
        (both) => loop.run(both),
        (both) => writeStatusChanges(context, clock, loop, wakeSignal, both),
        (both) => followSlot(context, deps, loop, both),
      )
    } finally {
      // The one after us may have begun: a SentinelConfig that comes to claim slots gets another daemon.
      if (loops.get(uid) === loop) loops.delete(uid)
      await writeFinalStatus(context, loop)
    }
  }

/** Claims a slot where the spec asks for claimed slots. */
const followSlot = async (
  context: DaemonContext<SentinelConfig>,
  { identity }: SentinelDaemonDeps,
  loop: PulseLoop,
  signal: AbortSignal,
): Promise<void> => {
  if (!usesSlotLeases(context.object)) return untilAborted(signal)
  const { name, namespace = 'default', api, log, clock } = context
  const slots = () => context.spec.autoShard?.replicas ?? 0
  await acquireSlot(
    { api, name, namespace, slots, identity, clock, log, onPartition: (part) => loop.setPartition(part) },
    signal,
  )
}

type Status = DeepPartial<SentinelConfigStatus>

/** How long a status waits for the next change before it is written, in milliseconds since the last one. */
const STATUS_DELAY_MS = { change: 1_000, lastPollTime: 60_000, never: Number.POSITIVE_INFINITY }
/** After a status could not be written. */
const STATUS_RETRY_DELAY_MS = 5_000

/** Writes the status when it has changed: at once, but at most once a second; that time has passed is news once a minute. */
const writeStatusChanges = async (
  context: DaemonContext<SentinelConfig>,
  clock: Clock,
  loop: PulseLoop,
  wakeSignal: WakeSignal,
  signal: AbortSignal,
): Promise<void> => {
  let written: Status | undefined
  let notBefore = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    const now = monotonic(context.clock)
    const status = buildStatus(loop.state, (written ?? context.status)?.conditions ?? undefined, clock.now())
    const rest = loop.writesStatus ? notBefore + statusDelay(status, written) - now : STATUS_DELAY_MS.lastPollTime
    if (rest <= 0) {
      const problem = await sendStatus(context, status)
      notBefore = now + (problem === undefined ? 0 : STATUS_RETRY_DELAY_MS)
      if (problem === undefined) written = status
      else if (!signal.aborted) context.log.warn('the status could not be written, trying again', { problem })
    } else await wakeSignal.wait(Math.min(rest, STATUS_DELAY_MS.lastPollTime), signal)
  }
}

const statusDelay = (status: Status, written: Status | undefined): number => {
  const withoutPollTime = (one: Status) => JSON.stringify({ ...one, lastPollTime: undefined })
  if (written === undefined || withoutPollTime(status) !== withoutPollTime(written)) return STATUS_DELAY_MS.change
  return status.lastPollTime === written.lastPollTime ? STATUS_DELAY_MS.never : STATUS_DELAY_MS.lastPollTime
}

/** Sends a status; returns why it could not be sent. */
const sendStatus = async (context: DaemonContext<SentinelConfig>, status: Status): Promise<string | undefined> => {
  context.patch.status(status)
  try {
    await context.send()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** What a successor needs most is until when this one was awake. */
const writeFinalStatus = async (context: DaemonContext<SentinelConfig>, loop: PulseLoop): Promise<void> => {
  const { coveredUntil, pulses } = loop.state
  if (coveredUntil === undefined || !loop.writesStatus) return
  const problem = await sendStatus(context, { lastPollTime: new Date(coveredUntil).toISOString(), pulses })
  if (problem !== undefined)
    context.log.debug('the last status could not be written, the next Sentinel goes by the one before', { problem })
}
