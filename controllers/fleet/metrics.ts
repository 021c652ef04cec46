/** What is counted about the fleet. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Recovery } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { DeviceCache } from './cache/devices.ts'

/** What the gauges show; asked at every scrape. */
export interface GaugeSource {
  recovery(): Recovery
  counts(): { readonly deployments: number; readonly devices: number; readonly alive: number }
  /** FLEET-105, FLEET-124. */
  readonly devices: Pick<DeviceCache, 'countVerifying' | 'countUnverified' | 'countInfos'>
}

/** Registers them; once per registry. */
export const createFleetMetrics = (registry: Registry) => {
  const registers = [registry]
  let measured: GaugeSource | undefined
  const gauge = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    show: (gauge: Gauge<L>, from: GaugeSource) => void,
  ) =>
    new Gauge<L>({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset()
        if (measured !== undefined) show(this, measured)
      },
    })
  gauge(
    'muster_fleet_source_phase',
    '1 for the phase in which a source is, else 0.',
    ['source', 'phase'],
    (own, from) => {
      for (const [source, { phase }] of Object.entries(from.recovery().sources))
        for (const one of ['Recovering', 'Degraded', 'Converged'])
          own.set({ source, phase: one }, one === phase ? 1 : 0)
    },
  )
  gauge('muster_fleet_leading', '1 while this replica writes status and advances rollouts.', [], (own, from) =>
    own.set(from.recovery().isLeading ? 1 : 0),
  )
  gauge('muster_fleet_orphans_waiting', 'Keys that nothing wants and that wait for a person.', [], (own, from) =>
    own.set(from.recovery().brake?.count ?? 0),
  )
  gauge('muster_fleet_deployments', 'Deployments that are known.', [], (own, from) =>
    own.set(from.counts().deployments),
  )
  gauge('muster_fleet_devices', 'Devices that are known, by whether they have a heartbeat.', ['alive'], (own, from) => {
    const { devices, alive } = from.counts()
    own.set({ alive: 'true' }, alive)
    own.set({ alive: 'false' }, devices - alive)
  })
  gauge(
    'muster_fleet_devices_verifying',
    'Devices by whether they take only entries that a key of this operator has signed; none where nothing is signed.',
    ['verifying'],
    (own, from) => {
      const counts = from.devices.countVerifying()
      if (counts === undefined) return
      own.set({ verifying: 'true' }, counts.verifying)
      own.set({ verifying: 'false' }, counts.others)
    },
  )
  gauge(
    'muster_fleet_unverified_entries',
    'Entries that devices refuse because no key that they know has signed them; none where nothing is signed.',
    [],
    (own, from) => {
      const refused = from.devices.countUnverified()
      if (refused !== undefined) own.set(refused)
    },
  )
  gauge(
    'muster_fleet_device_infos',
    'Devices that say something, by whether it is known to be theirs: signed, unsigned, refused; none without the keys of devices.',
    ['writer'],
    (own, from) => {
      for (const [writer, count] of Object.entries(from.devices.countInfos() ?? {})) own.set({ writer }, count)
    },
  )
  return {
    measure(from: GaugeSource | undefined) {
      measured = from
    },
    writes: new Counter({
      name: 'muster_fleet_desired_writes_total',
      help: 'Keys of fleet-desired that were written, by kind: Put, Delete.',
      labelNames: ['kind'],
      registers,
    }),
    malformed: new Counter({
      name: 'muster_fleet_malformed_entries_total',
      help: 'Entries that break the contract of their bucket and were skipped, by bucket and reason.',
      labelNames: ['bucket', 'reason'],
      registers,
    }),
    patches: new Counter({
      name: 'muster_fleet_status_writes_total',
      help: 'Status that was written to Kubernetes, by kind: Deployment, Device.',
      labelNames: ['kind'],
      registers,
    }),
    orphans: new Counter({
      name: 'muster_fleet_orphans_collected_total',
      help: 'Keys that nothing wanted and that were deleted.',
      registers,
    }),
    clearedReports: new Counter({
      name: 'muster_fleet_cleared_reports_total',
      help: 'Reports of Deployments that do not exist, removed because a device had too many of them.',
      registers,
    }),
    refusedWrites: new Counter({
      name: 'muster_fleet_refused_writes_total',
      help: 'Keys of fleet-desired that NATS did not take because the bucket is full; they are written again.',
      registers,
    }),
    bucketBytes: new Gauge({
      name: 'muster_fleet_bucket_bytes',
      help: 'Bytes in the store of a bucket.',
      labelNames: ['bucket'],
      registers,
    }),
    bucketLimit: new Gauge({
      name: 'muster_fleet_bucket_limit_bytes',
      help: 'Bytes that the store of a bucket may hold.',
      labelNames: ['bucket'],
      registers,
    }),
    lost: new Counter({
      name: 'muster_fleet_nats_problems_total',
      help: 'Connections to NATS that broke or could not be made, by reason.',
      labelNames: ['reason'],
      registers,
    }),
  }
}

export type Metrics = ReturnType<typeof createFleetMetrics>
