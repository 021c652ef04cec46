/**
 * prom-client without what aggregates over a Node.js cluster or pushes to a gateway: these load `cluster` and `https`.
 * JavaScript, because a package's inner files have no types.
 */
export { default as Counter } from 'prom-client/lib/counter.js'
export { default as collectDefaultMetrics } from 'prom-client/lib/defaultMetrics.js'
export { default as Gauge } from 'prom-client/lib/gauge.js'
export { default as Histogram } from 'prom-client/lib/histogram.js'
export { default as Registry } from 'prom-client/lib/registry.js'
