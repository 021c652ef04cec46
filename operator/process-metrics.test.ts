import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { registerProcessMetrics } from './process-metrics.ts'

test('the process reports its CPU, memory and event loop, and nothing that takes a sampler', async () => {
  const registry = new Registry()
  registerProcessMetrics(registry)
  const text = await registry.metrics()
  expect(text).toMatch(/^process_cpu_seconds_total \d/m)
  expect(text).toMatch(/^process_resident_memory_bytes \d/m)
  expect(text).toMatch(/^nodejs_eventloop_lag_seconds \d/m)
  expect(text).not.toMatch(/nodejs_eventloop_lag_(min|max|mean|stddev|p\d+)_seconds/)
})
