import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Binding } from './binding.ts'
import type { RequestMetrics } from './client/api-server.ts'
import { registerProcessMetrics } from './process-metrics.ts'
import { type SideServer, serve } from './serve.ts'

export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after'

/** What the runtime counts about one controller. Times in seconds. */
export interface ControllerMetrics {
  /** A reconcile, handler cycle or timer has ended. */
  reconciled(result: ReconcileResult, seconds: number): void
  /** Workers that are busy now. */
  activeWorkers(count: number): void
  concurrency(limit: number): void
}

/** What the runtime counts about one queue. Times in seconds. */
export interface WorkqueueMetrics {
  added(): void
  retried(): void
  depth(length: number): void
  /** From being added to being taken. */
  queued(seconds: number): void
  /** From being taken to being done. */
  worked(seconds: number): void
  /** Asked at every scrape: for how many seconds each item in work has been so. */
  inWork(ages: () => readonly number[]): void
}

/** Recorders for the names that controller-runtime, client-go and their dashboards use. */
export interface RuntimeMetrics {
  readonly requests: RequestMetrics
  controller(name: string): ControllerMetrics
  workqueue(name: string): WorkqueueMetrics
  /** Does this process hold the lease of that name? */
  leading(lease: string, isLeading: boolean): void
}

/** A registry with the metrics of the process and of Node.js. */
export const createRegistry = (): Registry => {
  const registry = new Registry()
  registerProcessMetrics(registry)
  return registry
}

/** client-go's powers of ten up to 1000 s, without those below a millisecond. */
const QUEUE_BUCKETS = [0.001, 0.01, 0.1, 1, 10, 100, 1000]
/** controller-runtime's. */
const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]

/** Registers the runtime's metrics; once for a registry. */
export const runtimeMetrics = (registry: Registry): RuntimeMetrics => {
  const make = instruments(registry)
  const requests = make.counter(
    'rest_client_requests_total',
    'HTTP requests to the API server, by status code, method and host.',
    ['code', 'method', 'host'],
  )
  const leader = make.gauge('leader_election_master_status', '1 while this process holds the lease, else 0.', ['name'])
  return {
    requests: { observe: (sample) => requests.inc(sample) },
    leading: (name, isLeading) => leader.set({ name }, isLeading ? 1 : 0),
    controller: controllerMetrics(make),
    workqueue: workqueueMetrics(make),
  }
}

const instruments = (registry: Registry) => {
  const registers = [registry]
  return {
    counter: <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      collect: (this: Gauge<L>) => void = () => {},
    ) => new Gauge({ name, help, labelNames, registers, collect }),
    histogram: <L extends string>(name: string, help: string, labelNames: readonly L[], buckets: number[]) =>
      new Histogram({ name, help, labelNames, registers, buckets }),
  }
}

const controllerMetrics = (make: ReturnType<typeof instruments>): RuntimeMetrics['controller'] => {
  const reconciles = make.counter('controller_runtime_reconcile_total', 'Reconciliations by controller and result.', [
    'controller',
    'result',
  ])
  const errors = make.counter('controller_runtime_reconcile_errors_total', 'Failed reconciliations by controller.', [
    'controller',
  ])
  const time = make.histogram(
    'controller_runtime_reconcile_time_seconds',
    'Length of a reconciliation.',
    ['controller'],
    RECONCILE_BUCKETS,
  )
  const workers = make.gauge('controller_runtime_active_workers', 'Workers that are busy.', ['controller'])
  const maxWorkers = make.gauge('controller_runtime_max_concurrent_reconciles', 'Workers there are.', ['controller'])

  return (controller) => {
    // Zeros from the start: a rate over a counter that appears with its first error misses that error.
    for (const result of RESULTS) reconciles.inc({ controller, result }, 0)
    errors.inc({ controller }, 0)
    return {
      reconciled(result, seconds) {
        reconciles.inc({ controller, result })
        if (result === 'error') errors.inc({ controller })
        time.observe({ controller }, seconds)
      },
      activeWorkers: (count) => workers.set({ controller }, count),
      concurrency: (limit) => maxWorkers.set({ controller }, limit),
    }
  }
}

const workqueueMetrics = (make: ReturnType<typeof instruments>): RuntimeMetrics['workqueue'] => {
  const label = ['name'] as const
  const depth = make.gauge('workqueue_depth', 'Items that wait.', label)
  const adds = make.counter('workqueue_adds_total', 'Items added.', label)
  const retries = make.counter('workqueue_retries_total', 'Items added again after an error.', label)
  const queued = 'workqueue_queue_duration_seconds'
  const queueTime = make.histogram(queued, 'From being added to being taken.', label, QUEUE_BUCKETS)
  const worked = 'workqueue_work_duration_seconds'
  const workTime = make.histogram(worked, 'From being taken to being done.', label, QUEUE_BUCKETS)
  const agesOf = new Map<string, () => readonly number[]>()
  const perQueue = (measure: (ages: readonly number[]) => number) =>
    function (this: Gauge<'name'>) {
      for (const [name, ages] of agesOf) this.set({ name }, measure(ages()))
    }
  make.gauge(
    'workqueue_unfinished_work_seconds',
    'How long the items in work have been so, together. Large values mean stuck workers.',
    label,
    perQueue((ages) => ages.reduce((sum, age) => sum + age, 0)),
  )
  make.gauge(
    'workqueue_longest_running_processor_seconds',
    'How long the oldest item in work has been so.',
    label,
    perQueue((ages) => Math.max(0, ...ages)),
  )

  return (name) => {
    adds.inc({ name }, 0)
    retries.inc({ name }, 0)
    depth.set({ name }, 0)
    return {
      added: () => adds.inc({ name }),
      retried: () => retries.inc({ name }),
      depth: (length) => depth.set({ name }, length),
      queued: (seconds) => queueTime.observe({ name }, seconds),
      worked: (seconds) => workTime.observe({ name }, seconds),
      inWork: (ages) => {
        agesOf.set(name, ages)
      },
    }
  }
}

const RESULTS = ['success', 'error', 'requeue', 'requeue_after'] as const satisfies ReconcileResult[]

/** Serves `/metrics` in Prometheus' text format. @throws BindingError */
export const serveMetrics = (registry: Registry, binding: Binding, flag: string): Promise<SideServer> =>
  serve(
    { '/metrics': async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() }) },
    binding,
    flag,
  )
