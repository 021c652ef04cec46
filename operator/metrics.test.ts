import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createRegistry, runtimeMetrics, serveMetrics } from './metrics.ts'

/** The samples of a registry without help texts and histogram buckets. */
const samples = async (registry: Registry): Promise<string[]> =>
  (await registry.metrics())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_bucket{'))

test("the runtime counts under controller-runtime's and client-go's names", async () => {
  const registry = new Registry()
  const metrics = runtimeMetrics(registry)
  const pools = metrics.controller('clusterpool')
  pools.concurrency(4)
  pools.activeWorkers(1)
  pools.reconciled('success', 0.5)
  pools.reconciled('error', 0.25)
  const queue = metrics.workqueue('clusterpool')
  queue.added()
  queue.retried()
  queue.depth(3)
  queue.queued(0.125)
  queue.worked(0.25)
  queue.inWork(() => [2, 5])
  metrics.requests.observe({ method: 'GET', host: '10.0.0.1:443', code: '200' })
  metrics.leading('muster', true)
  expect(await samples(registry)).toMatchInlineSnapshot(`
    [
      "rest_client_requests_total{method="GET",host="10.0.0.1:443",code="200"} 1",
      "leader_election_master_status{name="muster"} 1",
      "controller_runtime_reconcile_total{controller="clusterpool",result="success"} 1",
      "controller_runtime_reconcile_total{controller="clusterpool",result="error"} 1",
      "controller_runtime_reconcile_total{controller="clusterpool",result="requeue"} 0",
      "controller_runtime_reconcile_total{controller="clusterpool",result="requeue_after"} 0",
      "controller_runtime_reconcile_errors_total{controller="clusterpool"} 1",
      "controller_runtime_reconcile_time_seconds_sum{controller="clusterpool"} 0.75",
      "controller_runtime_reconcile_time_seconds_count{controller="clusterpool"} 2",
      "controller_runtime_active_workers{controller="clusterpool"} 1",
      "controller_runtime_max_concurrent_reconciles{controller="clusterpool"} 4",
      "workqueue_depth{name="clusterpool"} 3",
      "workqueue_adds_total{name="clusterpool"} 1",
      "workqueue_retries_total{name="clusterpool"} 1",
      "workqueue_queue_duration_seconds_sum{name="clusterpool"} 0.125",
      "workqueue_queue_duration_seconds_count{name="clusterpool"} 1",
      "workqueue_work_duration_seconds_sum{name="clusterpool"} 0.25",
      "workqueue_work_duration_seconds_count{name="clusterpool"} 1",
      "workqueue_unfinished_work_seconds{name="clusterpool"} 7",
      "workqueue_longest_running_processor_seconds{name="clusterpool"} 5",
    ]
  `)
})

test('a controller that has done nothing yet already shows its zeros', async () => {
  const registry = new Registry()
  runtimeMetrics(registry).controller('clusterpool')
  const shown = await samples(registry)
  expect(shown).toContain('controller_runtime_reconcile_errors_total{controller="clusterpool"} 0')
  expect(shown).toContain('controller_runtime_reconcile_total{controller="clusterpool",result="error"} 0')
})

test('/metrics serves the process and Node.js beside the runtime', async () => {
  const registry = createRegistry()
  runtimeMetrics(registry)
  const server = await serveMetrics(registry, { host: '127.0.0.1', port: 0 }, '--metrics-bind-address')
  const response = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  const text = await response.text()
  await server.stop()
  expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4')
  expect(text).toMatch(/^process_resident_memory_bytes \d+/m)
  expect(text).toMatch(/^nodejs_heap_size_used_bytes \d+/m)
  expect(text).toContain('# TYPE workqueue_depth gauge')
})
