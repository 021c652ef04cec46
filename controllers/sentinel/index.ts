/**
 * Sentinel: one pulse loop per SentinelConfig.
 *
 *   SentinelConfig ─► pulse (daemon) ─► source: watch | poll ─► schedule: what is due ─► POST /events
 *                        └─► status, every change at most once a second
 *
 * What it promises: docs/sentinel.md. Why it is so: docs/decisions/sentinel-*.md.
 */
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { type Controller, controller } from '#operator/controller.ts'
import { rejectOverlap } from './admission.ts'
import { sentinelDaemon, sentinelLease, usesSlotLeases } from './daemon.ts'
import type { PulseLoop } from './loop/pulse-loop.ts'
import { createMetrics } from './metrics.ts'
import { reportMissingConfig } from './missing-config.ts'
import type { SentinelOptions } from './options.ts'
import { createOwnershipCheck } from './sharding/ownership-check.ts'

export const sentinel = (deps: SentinelOptions): Controller<SentinelConfig> => {
  // Nothing is remembered on the object: a Sentinel may read SentinelConfigs and write their status, no more.
  const configs = controller(SentinelConfig, { name: 'sentinel' })
  const siblings = configs.index('resourceType', (config) => [[config.spec.resourceType, config]])
  const loops = new Map<string, PulseLoop>()
  const metrics = createMetrics(deps.registry)
  const { hyperfleetApiUrl: defaultUrl } = deps
  const check = createOwnershipCheck({ loops, siblings, metrics, clock: deps.clock, defaultUrl })
  const ours = ({ metadata }: SentinelConfig) => deps.config === undefined || metadata.name === deps.config
  const run = sentinelDaemon({ ...deps, metrics, loops, check })

  configs.daemon('pulse', run, { when: (config) => ours(config) && !usesSlotLeases(config), lease: sentinelLease })
  configs.daemon('pulse-slot', run, { when: (config) => ours(config) && usesSlotLeases(config) })
  configs.on.field('spec', 'reload', ({ object }) => loops.get(object.metadata.uid)?.reload(), { when: ours })
  configs.on.field('spec', 'claims', async (context) => {
    for (const sibling of siblings.get(context.spec.resourceType)) await check(sibling, context)
  })
  configs.timer('ownership', { every: '1m', when: ours }, (context) => check(context.object, context))
  if (deps.config !== undefined) {
    const named = configs.index('name', (config) => [[config.metadata.name, config]])
    const { config: name } = deps
    configs.source(
      'missing-config',
      reportMissingConfig(name, () => named.get(name).length > 0, metrics),
    )
  }
  if (deps.denyOverlap) configs.on.validate('shard', rejectOverlap(siblings, defaultUrl))

  return configs
}
