import { Counter, collectDefaultMetrics, type Registry } from 'prom-client'
import { unhandledRejections } from '#lib/process/unhandled-rejections.ts'

/**
 * What prom-client reads from a sampler of the event loop. It wakes the process 100 times a second, which costs an idle one
 * most of its CPU: 45 of 50 ms in 5 s. `nodejs_eventloop_lag_seconds`, measured at each scrape, stays.
 */
const SAMPLED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (part) => `nodejs_eventloop_lag_${part}_seconds`,
)

/** Milliseconds: prom-client always starts the sampler, so it is made to sleep for as long as a timer can. */
const NEVER = 2 ** 31 - 1

/** Registers the metrics of the process and of Node.js; once for a registry. */
export const registerProcessMetrics = (registry: Registry): void => {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER })
  new Counter({
    name: 'process_unhandled_rejections_total',
    help: 'Promises that were rejected and that nothing handled: defects',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(unhandledRejections())
    },
  })
  for (const name of SAMPLED) registry.removeSingleMetric(name)
}
