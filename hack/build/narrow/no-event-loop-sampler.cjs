/**
 * What prom-client's measure of the event loop asks of `perf_hooks`: without a sampler it measures at each scrape alone, which is what of
 * it is shown (operator/process-metrics.ts). The sampler keeps 360 KB for a histogram.
 */
module.exports = {}
