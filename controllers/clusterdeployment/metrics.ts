/** The metrics of ClusterDeployments. Durations as Hive's: from the object's creation, and from its deletion. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type ClusterDeployment, UNREACHABLE } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { Index } from '#operator/client/store.ts'
import { isTrue } from '#operator/model/conditions.ts'
import { STOPPED } from './conditions.ts'
import type { RecordCache } from './record/record-cache.ts'

const STATES = ['installing', 'installed', 'unreachable', 'stopped', 'deleting'] as const
export type State = (typeof STATES)[number]

export interface Metrics {
  installed(deployment: ClusterDeployment, now: Date): void
  attemptFailed(): void
  /** Its record is gone. */
  deprovisioned(deployment: ClusterDeployment, now: Date): void
}

const BUCKETS = [5, 15, 60, 300, 900, 1_800, 3_600, 7_200]

/** Registers them; once per registry. @param countForgotten how many records have no ClusterDeployment: CLUSTER-43 */
export const createMetrics = (
  registry: Registry,
  records: RecordCache,
  states: Index<State, true>,
  countForgotten: () => number,
): Metrics => {
  const registers = [registry]
  const installs = new Histogram({
    name: 'muster_clusterdeployment_install_seconds',
    help: 'From the creation of a ClusterDeployment until its cluster was installed.',
    buckets: BUCKETS,
    registers,
  })
  const failures = new Counter({
    name: 'muster_clusterdeployment_failed_attempts_total',
    help: 'Attempts at an installation that failed.',
    registers,
  })
  const deprovisions = new Histogram({
    name: 'muster_clusterdeployment_deprovision_seconds',
    help: 'From the deletion of a ClusterDeployment until the HyperFleet API had its cluster no more.',
    buckets: BUCKETS,
    registers,
  })
  new Gauge({
    name: 'muster_clusterdeployments',
    help: 'ClusterDeployments by state: installing, installed, unreachable (installed, and its API server does not answer any more), stopped (will not be installed), deleting.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of STATES) this.set({ state }, states.get(state).length)
    },
  })
  new Gauge({
    name: 'muster_clusterdeployment_stream_up',
    help: '1 while the stream of the HyperFleet API shows what is true.',
    registers,
    collect() {
      this.set(records.outage === undefined ? 1 : 0)
    },
  })
  new Gauge({
    name: 'muster_clusterdeployment_clusters_without_deployment',
    help: 'Clusters that this Kubernetes cluster registered with the HyperFleet API and that have no ClusterDeployment: they were preserved, a restore has forgotten them, or they were registered too late.',
    registers,
    collect() {
      this.set(countForgotten())
    },
  })
  return {
    installed: ({ metadata }, now) => installs.observe(secondsSince(metadata.creationTimestamp, now)),
    attemptFailed: () => failures.inc(),
    deprovisioned: ({ metadata }, now) => deprovisions.observe(secondsSince(metadata.deletionTimestamp, now)),
  }
}

export const stateOf = ({ metadata, spec, status }: ClusterDeployment): State => {
  if (metadata.deletionTimestamp !== undefined) return 'deleting'
  if (isTrue(status?.conditions, STOPPED)) return 'stopped'
  if (!spec.installed) return 'installing'
  return isTrue(status?.conditions, UNREACHABLE) ? 'unreachable' : 'installed'
}

const secondsSince = (text: string | undefined, now: Date): number =>
  text === undefined ? 0 : Math.max(0, (now.getTime() - Date.parse(text)) / 1_000)
