/** The metrics of adapter tasks: the Go adapter's names, so that its dashboards show ours too, and more. ADAPTER-47, ADAPTER-48, ADAPTER-99, ADAPTER-100. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Trace } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { StuckDeletion } from './daemon/stuck-deletions.ts'
import type { Requirements } from './required/compare-required.ts'

const ADAPTER_LABELS = ['adapter_name'] as const

/** Registers them; once per registry. */
export const createMetrics = (registry: Registry) => {
  const registers = [registry]
  /** Read at every scrape, because a deletion gets stuck by time alone. By adapter. */
  const stuck = new Map<string, () => readonly StuckDeletion[]>()
  new Gauge({
    name: 'hyperfleet_adapter_resource_deletions_stuck',
    help: 'Deletions that wait for longer than five minutes, by the resource of the task that they wait for, and why it does not go: Finalizer, Order, PreconditionNotMet, or the reason of a failure. Resource "" waits for the report of it to be taken.',
    labelNames: [...ADAPTER_LABELS, 'resource_type', 'cause'],
    registers,
    collect() {
      this.reset()
      for (const [adapter_name, read] of stuck)
        for (const { resource, cause, count } of read())
          this.set({ adapter_name, resource_type: resource, cause }, count)
    },
  })
  /** Read at every scrape, so that a task counts as soon as it is there. */
  const requirements = new Set<() => Requirements>()
  new Gauge({
    name: 'hyperfleet_adapter_required_adapters_without_task',
    help: '1 for an adapter that the HyperFleet API requires for resources of the type and that no AdapterTask of this manager does, 0 for one with a task. No resource of the type is Ready without it.',
    labelNames: ['resource_type', ...ADAPTER_LABELS],
    registers,
    collect() {
      this.reset()
      for (const { resourceType, adapter, hasTask } of [...requirements].flatMap((read) => read().adapters))
        this.set({ resource_type: resourceType, adapter_name: adapter }, hasTask ? 0 : 1)
    },
  })
  new Gauge({
    name: 'hyperfleet_adapter_tasks_not_required',
    help: 'AdapterTasks whose adapter the HyperFleet API does not require by its name, though no annotation says that this is meant: resources are Ready before their work is done, or, where it is undecided, never.',
    labelNames: ['resource_type', ...ADAPTER_LABELS],
    registers,
    collect() {
      this.reset()
      for (const { resourceType, adapter, isForgotten } of [...requirements].flatMap((read) => read().tasks))
        this.inc({ resource_type: resourceType, adapter_name: adapter }, isForgotten ? 1 : 0)
    },
  })
  return {
    stuck,
    requirements,
    eventsProcessed: new Counter({
      name: 'hyperfleet_adapter_events_processed_total',
      help: 'Runs that ended, by status: success, failed, skipped.',
      labelNames: [...ADAPTER_LABELS, 'status'],
      registers,
    }),
    duration: new Histogram({
      name: 'hyperfleet_adapter_event_processing_duration_seconds',
      help: 'How long a run took.',
      labelNames: ADAPTER_LABELS,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120],
      registers,
    }),
    errors: new Counter({
      name: 'hyperfleet_adapter_errors_total',
      help: 'Failures of runs, by phase.',
      labelNames: [...ADAPTER_LABELS, 'error_type'],
      registers,
    }),
    resourcesDeleted: new Counter({
      name: 'hyperfleet_adapter_resources_deleted_total',
      help: 'Resources whose deletion was asked for, by whether that was taken. What was gone already is not counted.',
      labelNames: [...ADAPTER_LABELS, 'resource_type', 'status'],
      registers,
    }),
    deletionDuration: new Histogram({
      name: 'hyperfleet_adapter_resource_deletion_duration_seconds',
      help: 'From the first run that deleted something for a resource to the one that found everything gone.',
      labelNames: ADAPTER_LABELS,
      buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900],
      registers,
    }),
    deletionsInProgress: new Gauge({
      name: 'hyperfleet_adapter_resource_deletions_in_progress',
      help: 'Resources that are being deleted and still have something left.',
      labelNames: ADAPTER_LABELS,
      registers,
    }),
    orphans: new Gauge({
      name: 'hyperfleet_adapter_orphaned_resources',
      help: 'Resources that the HyperFleet API does not have any more, and for which something that was applied may be left: muster adapter orphans lists them.',
      labelNames: ADAPTER_LABELS,
      registers,
    }),
    deletionsHeld: new Gauge({
      name: 'hyperfleet_adapter_deletions_held',
      help: 'Resources that are gone from the HyperFleet API, or not selected by the task any more, that the API never said are to be deleted, and that are many at once: what was applied for them stays until a person releases it.',
      labelNames: ADAPTER_LABELS,
      registers,
    }),
    deadLetters: new Counter({
      name: 'hyperfleet_adapter_dead_letters_total',
      help: 'Messages that were set aside: no events, or events whose outcome could not be reported, delivery after delivery.',
      labelNames: ADAPTER_LABELS,
      registers,
    }),
    inFlight: new Gauge({
      name: 'hyperfleet_adapter_runs_in_flight',
      help: 'Runs that are under way.',
      labelNames: ADAPTER_LABELS,
      registers,
    }),
    up: new Gauge({
      name: 'hyperfleet_adapter_up',
      help: '1 while the task is worked on.',
      labelNames: ADAPTER_LABELS,
      registers,
    }),
  }
}

export type Metrics = ReturnType<typeof createMetrics>

/** Counts what a run did. */
export const countRun = (metrics: Metrics, adapter: string, { status, failures, resources, duration }: Trace): void => {
  const labels = { adapter_name: adapter }
  metrics.eventsProcessed.inc({ ...labels, status })
  metrics.duration.observe(labels, duration / 1_000)
  for (const { phase } of failures) metrics.errors.inc({ ...labels, error_type: phase })
  for (const { name, action } of resources)
    if (action === 'deleted' || action === 'recreated')
      metrics.resourcesDeleted.inc({ ...labels, resource_type: name, status: 'success' })
  for (const { phase, step, reason } of failures)
    if (phase === 'resources' && reason === 'DeleteFailed')
      metrics.resourcesDeleted.inc({ ...labels, resource_type: step, status: 'failed' })
}
