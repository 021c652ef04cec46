/** Metrics of pools: Hive's, with its names and labels, and those of leases. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { Counts } from './model/plan.ts'

const POOL = ['clusterpool_namespace', 'clusterpool_name'] as const

/** Hive's. */
const CLAIM_DELAYS = [1, 30, 120, 600, 1800, 3000, 7200]

/** Registers them; once per registry. */
export const createMetrics = (registry: Registry) => {
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: POOL, registers })
  const counter = (name: string, help: string) => new Counter({ name, help, labelNames: POOL, registers })
  const gauges = {
    assignable: gauge(
      'hive_clusterpool_clusterdeployments_assignable',
      'Unclaimed clusters that are installed and running.',
    ),
    claimed: gauge('hive_clusterpool_clusterdeployments_claimed', 'Claimed clusters.'),
    deleting: gauge(
      'hive_clusterpool_clusterdeployments_deleting',
      'Clusters that are being deleted or marked for it.',
    ),
    installing: gauge('hive_clusterpool_clusterdeployments_installing', 'Unclaimed clusters that are being installed.'),
    unclaimed: gauge(
      'hive_clusterpool_clusterdeployments_unclaimed',
      'Unclaimed clusters: installing, standby and assignable ones.',
    ),
    standby: gauge(
      'hive_clusterpool_clusterdeployments_standby',
      'Unclaimed clusters that are installed and not running.',
    ),
    stale: gauge(
      'hive_clusterpool_clusterdeployments_stale',
      'Unclaimed clusters of an older pool version or of a customization that was edited.',
    ),
    broken: gauge('hive_clusterpool_clusterdeployments_broken', 'Unclaimed clusters that will never be usable.'),
    leases: gauge('muster_clusterpool_leases_held', 'Customizations that the pool holds.'),
    waiting: gauge('muster_clusterpool_claims_waiting', 'Claims of the pool that have no cluster.'),
    held: gauge(
      'muster_clusterpool_deletions_held',
      'Deletions of installed clusters that no person asked for and that wait for one.',
    ),
    attemptsLeft: gauge(
      'muster_clusterpool_attempts_left',
      'How many more clusters may fail before all customizations of the pool are broken by the cloud.',
    ),
  }
  const counters = {
    staleDeleted: counter(
      'hive_clusterpool_stale_clusterdeployments_deleted',
      'Clusters that were deleted because they were outdated.',
    ),
    conflicts: counter(
      'muster_clusterpool_conflicts_total',
      'Writes that were given up because another client wrote first; each is decided anew.',
    ),
    leasesTaken: counter('muster_clusterpool_leases_taken_total', 'Customizations leased for new clusters.'),
    failures: counter(
      'muster_clusterpool_cluster_failures_total',
      'Clusters that failed, as the inventory counts them.',
    ),
  }
  const claimDelay = new Histogram({
    name: 'hive_clusterclaim_assignment_delay_seconds',
    help: 'Time between the creation of a claim and its getting a cluster.',
    labelNames: POOL,
    buckets: CLAIM_DELAYS,
    registers,
  })
  return { gauges, counters, claimDelay }
}

export type Metrics = ReturnType<typeof createMetrics>

export const labelsOf = ({ metadata: { namespace = '', name } }: ClusterPool) => ({
  clusterpool_namespace: namespace,
  clusterpool_name: name,
})

/** Sets what is counted anew in each pass. */
export const setGauges = ({ gauges }: Metrics, pool: ClusterPool, counts: Counts): void => {
  const labels = labelsOf(pool)
  const { assignable, claimed, deleting, installing, standby, stale, broken, leases, waiting, held } = counts
  const unclaimed = installing + standby + assignable
  const values = { assignable, claimed, deleting, installing, unclaimed, standby, stale, broken, leases, waiting, held }
  for (const [name, value] of Object.entries(values)) gauges[name as keyof typeof values].set(labels, value)
  const entries = Object.values(pool.status?.inventory ?? {})
  gauges.attemptsLeft.set(
    labels,
    entries.reduce((sum, { attempts }) => sum + (attempts ?? 0), 0),
  )
}

/** A pool that is gone is no series any more. */
export const forgetPool = ({ gauges, counters, claimDelay }: Metrics, pool: ClusterPool): void => {
  const labels = labelsOf(pool)
  for (const metric of [...Object.values(gauges), ...Object.values(counters), claimDelay]) metric.remove(labels)
}
