import { Counter, Gauge, type Registry } from 'prom-client'
import type { Logger } from '#operator/model/log.ts'
import type { Entities } from '../model/entity.ts'
import { momentOf, timestampOf } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'
import {
  type Backlog,
  readBacklog,
  readStuckDeletions,
  type StuckDeletions,
} from '../storage/pending-reconciliations.ts'
import type { ResourceWrite } from '../storage/resource-write.ts'
import { sharedRead } from './shared-read.ts'
import { startsReconciliation } from './starts-reconciliation.ts'

/** `resource_type` is the kind as resources have it, such as Cluster, everywhere: the Go service's differ among themselves. */
const LABELS = ['resource_type', 'is_delete'] as const

/** Counts the reconciliations that committed steps begin, in this process. */
export const countReconciliations = (registry: Registry): ((steps: readonly ResourceWrite[]) => void) => {
  const started = new Counter({
    name: 'hyperfleet_api_reconciliation_started_total',
    help: 'Resources that became not ready or began to be deleted, by requests to this process',
    labelNames: LABELS,
    registers: [registry],
  })
  return (steps) => {
    for (const { resource } of steps.filter(startsReconciliation))
      started.inc({ resource_type: resource.kind, is_delete: String(resource.deleted_time !== undefined) })
  }
}

export interface ReconciliationOptions {
  readonly database: Pick<Database, 'kysely'>
  readonly entities: Entities
  readonly now: () => Date
  /** Milliseconds after which what still waits counts as stuck. */
  readonly stuckAfter: number
  readonly log: Pick<Logger, 'warn'>
}

/** What waits in the database, read when the metrics are; every replica tells the same. */
export const measureReconciliation = (
  registry: Registry,
  { database, entities, now, stuckAfter, log }: ReconciliationOptions,
): void => {
  const registers = [registry]
  const names = {
    pending: 'hyperfleet_api_resource_pending_reconciliation',
    stuck: 'hyperfleet_api_resource_pending_reconciliation_stuck',
    stuckDuration: 'hyperfleet_api_resource_pending_reconciliation_stuck_duration_seconds',
  }
  const read = async () => {
    const before = timestampOf(new Date(now().getTime() - stuckAfter))
    const [backlog, stuck] = await Promise.all([
      readBacklog(database.kysely, before),
      readStuckDeletions(database.kysely, before),
    ])
    return { backlog: withZeros(backlog, entities), stuck }
  }
  const state = sharedRead(async () =>
    read().catch((error: unknown) => {
      // Everything else is worth a scrape all the more when the database is away.
      log.warn('what waits for adapters can’t be measured, this scrape lacks it', {
        error: error instanceof Error ? error.message : error,
      })
      return { backlog: [], stuck: [] }
    }),
  )
  const age = ({ oldest, pending }: Pick<Backlog, 'oldest' | 'pending'>): number =>
    pending === 0 ? 0 : (now().getTime() - momentOf(oldest).getTime()) / 1000

  const gauge = (name: string, help: string, value: (backlog: Backlog) => number) =>
    new Gauge({
      name,
      help,
      labelNames: LABELS,
      registers,
      async collect() {
        const { backlog } = await state()
        this.reset()
        for (const row of backlog) this.set({ resource_type: row.kind, is_delete: String(row.isDelete) }, value(row))
      },
    })
  gauge(names.pending, 'Resources that are not ready, or in deletion', ({ pending }) => pending)
  gauge(
    names.stuck,
    'Resources that for longer than --stuck-after have not been ready or have been in deletion',
    ({ stuck }) => stuck,
  )
  gauge(names.stuckDuration, 'How long the longest of the stuck resources has been so; 0 when none is stuck', (row) =>
    row.stuck === 0 ? 0 : age(row),
  )
  const deletionGauge = (name: string, help: string, value: (backlog: Backlog) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['resource_type'],
      registers,
      async collect() {
        const { backlog } = await state()
        this.reset()
        for (const row of backlog) if (row.isDelete) this.set({ resource_type: row.kind }, value(row))
      },
    })
  deletionGauge('hyperfleet_api_deletions_pending', 'Resources in deletion', ({ pending }) => pending)
  deletionGauge('hyperfleet_api_deletion_oldest_age_seconds', 'Age of the oldest deletion; 0 when there is none', age)
  new Gauge({
    name: 'hyperfleet_api_deletions_stuck',
    help: 'Resources in deletion for longer than --stuck-after, by each adapter that they wait for; adapter="other" has a name of an unusual form, adapter="group NAME" waits for a consumer group to finish what it began before, adapter="" for children alone',
    labelNames: ['resource_type', 'adapter'],
    registers,
    async collect() {
      const { stuck } = await state()
      this.reset()
      for (const { kind, adapter, count } of stuck.flatMap(byAdapter)) this.inc({ resource_type: kind, adapter }, count)
    },
  })
}

/** A kind without anything pending is told as 0: an alert can then say that it is over. */
const withZeros = (backlog: readonly Backlog[], { all }: Entities): Backlog[] =>
  all.flatMap(({ kind }) =>
    [false, true].map(
      (isDelete) =>
        backlog.find((row) => row.kind === kind && row.isDelete === isDelete) ?? {
          kind,
          isDelete,
          pending: 0,
          stuck: 0,
          oldest: '',
        },
    ),
  )

/** Other names of adapters are one label value: reports choose them, and each value is a series in Prometheus. */
const ADAPTER_LABEL = /^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/

const byAdapter = ({ kind, awaited, groups, count }: StuckDeletions) => {
  const all = [
    ...awaited.map((name) => (ADAPTER_LABEL.test(name) ? name : 'other')),
    ...groups.map((group) => `group ${group}`),
  ]
  return (all.length === 0 ? [''] : all).map((adapter) => ({ kind, adapter, count }))
}
