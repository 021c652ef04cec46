import type { SourceContext } from '#operator/engine/context.ts'
import { SPEC_RETRY_DELAY_MS } from './loop/resource-reader.ts'
import { type Metrics, shardMetrics } from './metrics.ts'

/** Says every 30 s that the SentinelConfig of `--config` does not exist, and counts it as a failure to load it: SENTINEL-41. */
export const reportMissingConfig =
  (name: string, exists: () => boolean, metrics: Metrics) =>
  async ({ clock, log, signal }: SourceContext): Promise<void> => {
    const missing = shardMetrics(metrics, 'missing', 'unknown')
    while (!signal.aborted) {
      if (!exists()) {
        missing.error('config_load')
        log.warn(`sentinel: there is no SentinelConfig ${name}, looking again in ${SPEC_RETRY_DELAY_MS / 1_000} s`)
      }
      await clock.sleep(SPEC_RETRY_DELAY_MS, signal)
    }
  }
