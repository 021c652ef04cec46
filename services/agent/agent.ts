/**
 * The agent of a device:
 *
 *   fleet-desired ─► watch ─► a placement runner for each Deployment ─► runner: Process | KubernetesManifests
 *                                  │
 *   fleet-state, fleet-info ◄─ reports        fleet-heartbeat ◄─ every 30 s
 *
 * What it was told last is on its disk, so it works without NATS. Only a deletion takes a workload away: a key that is
 * missing tells that a store was lost. AGENT-5, AGENT-6, AGENT-11.
 */

import { randomUUID } from 'node:crypto'
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import type { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import { deviceKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { heartbeatCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { detach } from '#lib/process/detach.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { EntryVerifier } from './entry-verifier.ts'
import { agentId, lockFolder } from './folder-lock.ts'
import { type InfoSigner, infoSigner, NO_SIGNER } from './info-signer.ts'
import { noCluster } from './manifests/no-cluster.ts'
import { createObjectsApi } from './manifests/objects-api.ts'
import { manifestRunner } from './manifests/runner.ts'
import { type ConnectOptions, connectAgent, logStatus } from './nats/connect.ts'
import { infoStore } from './nats/info-store.ts'
import { type ReportBuckets, StateReporter } from './nats/state-reporter.ts'
import { watchDesired } from './nats/watch-desired.ts'
import { PlacementRunners } from './placement-runners.ts'
import { openPlacementStore } from './placement-store.ts'
import { noMachine } from './process/no-machine.ts'
import { openHost, type ProgramSettings } from './process/open-host.ts'
import type { ProgramHost } from './process/program-host.ts'
import { processRunner } from './process/runner.ts'
import { NO_REMOVED_ENTRIES, removedEntriesIn } from './removed-entries.ts'
import type { WorkloadRunners } from './workload-runner.ts'

export interface AgentOptions {
  readonly device: string
  readonly labels: Readonly<Record<string, string>>
  readonly version: string
  /** What entries must be signed by; undefined where they need not be signed. AGENT-48. */
  readonly publicKeys: FleetKeyFile | undefined
  readonly nats: Pick<ConnectOptions, 'url' | 'authenticator' | 'ca'> & {
    /** The file with the key that is the device's alone: what it says of itself is signed by it. Nothing is signed without one. AGENT-56. */
    readonly keyFile?: string | undefined
  }
  /** Made when it is not there; one agent at a time. */
  readonly stateDir: string
  /** Where objects of manifests are applied; undefined on a device without Kubernetes. */
  readonly cluster: Transport | undefined
  /** What is told of the device beside its labels. */
  readonly inventory: Readonly<Record<string, string>>
  /** How programs run on this machine; undefined where the device is no machine, which runs none. */
  readonly programs: ProgramSettings | undefined
  /** Programs end with the agent; else they go on, and the next agent takes them over. */
  readonly stopWorkloads: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** How often the device says that it is there: three beats may fail before it counts as offline. AGENT-17, FLEET-15. */
const HEARTBEAT_INTERVAL = '30s'
const RETRY_DELAY_MS = 2_000
/** How often all entries are read again, in case a store was lost and nothing told. */
const REREAD_INTERVAL = '10m'

/** Runs until the signal aborts. @throws RefusedError, LockedError, ProgramsError, and the system's error for a folder that can't be used */
export const runAgent = async (options: AgentOptions, signal: AbortSignal): Promise<void> => {
  const { device, stateDir, clock, log } = options
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const folder = await realpath(stateDir)
  await using _locked = await lockFolder(folder)
  const store = await openPlacementStore(folder, log)
  const verifier = new EntryVerifier({
    keys: options.publicKeys,
    changed: (ids) => reports.changeInfo({ publicKeys: ids }),
    log,
  })
  const reports = new StateReporter(device, {
    labels: options.labels,
    inventory: options.inventory,
    agentVersion: options.version,
    ...(verifier.ids !== undefined && { publicKeys: verifier.ids }),
  })
  if (verifier.ids === undefined)
    log.warn('entries are taken without a signature, so what opens NATS puts programs here: give --fleet-public-keys')
  else log.info('entries are taken that a key of the fleet has signed', { keys: verifier.ids })
  const host = options.programs && (await openHost(options.programs, folder, agentId(folder), log))
  const placements = new PlacementRunners({
    device,
    store: {
      ...store,
      async delete(key) {
        await host?.deleteFolder(key)
        await store.delete(key)
      },
    },
    runners: createRunners(options, agentId(folder), host),
    holdFilesOf: host?.holdFilesOf ?? (({ folder: own }) => [join(own, 'hold')]),
    verifier,
    removed: options.publicKeys === undefined ? NO_REMOVED_ENTRIES : removedEntriesIn(folder),
    reports,
    clock,
    log,
  })
  try {
    await placements.resumeStored()
    const connection = await connectAgent({ ...options.nats, device, clock, log }, signal)
    try {
      await runConnected(
        connection,
        options,
        { placements, reports, buckets: await openReportBuckets(connection, signerOf(options, folder)) },
        signal,
      )
    } finally {
      await connection.close()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await placements.close(options.stopWorkloads)
  }
}

const createRunners = (
  { cluster, clock, log }: AgentOptions,
  agent: string,
  host: ProgramHost | undefined,
): WorkloadRunners => ({
  Process: host === undefined ? noMachine : processRunner({ agent, host, clock, log }),
  KubernetesManifests:
    cluster === undefined ? noCluster : manifestRunner({ api: createObjectsApi(cluster, clock), clock, log }),
})

const signerOf = ({ nats: { keyFile }, clock }: AgentOptions, folder: string): InfoSigner =>
  keyFile === undefined ? NO_SIGNER : infoSigner(keyFile, folder, clock)

/** What a connection is for. */
interface Connected {
  readonly placements: PlacementRunners
  readonly reports: StateReporter
  readonly buckets: ReportBuckets
}

/** Everything that goes over one connection, which outlives its breaks. */
const runConnected = async (
  connection: NatsConnection,
  options: AgentOptions,
  { placements, reports, buckets }: Connected,
  signal: AbortSignal,
): Promise<void> => {
  const { device, clock, log } = options
  log.info('connected to NATS', { device, server: connection.getServer() })
  let reading: AbortScope | undefined
  const again = (): void => {
    reports.resendAll()
    reading?.abort()
  }
  detach('logging the state of the connection to NATS', logStatus(connection, log, again))
  const watch = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; ) {
      using scope = new AbortScope(signal)
      reading = scope
      detach(
        'waiting for the next reading of fleet-desired',
        clock.sleep(REREAD_INTERVAL, scope.signal).then(() => scope.abort()),
      )
      try {
        await watchDesired(
          connection,
          device,
          placements.listener(() => (failures = 0)),
          scope.signal,
        )
      } catch (error) {
        failures += 1
        if (failures === 1 && !signal.aborted)
          log.warn('fleet-desired can’t be read: what runs goes on, it is read again in 2 s', {
            problem: messageOf(error),
          })
      }
      if (!scope.signal.aborted) await clock.sleep(RETRY_DELAY_MS, scope.signal)
    }
  }
  await Promise.all([
    watch(),
    reports.deliver(buckets, clock, log, signal),
    sendHeartbeats(buckets, options, again, signal),
    checkReports(reports, buckets, options, signal),
  ])
}

const openReportBuckets = async (connection: NatsConnection, signer: InfoSigner): Promise<ReportBuckets> => {
  const kvm = new Kvm(connection)
  const [state, heartbeat] = await Promise.all([kvm.open(BUCKETS.state.name), kvm.open(BUCKETS.heartbeat.name)])
  return { state, info: infoStore(connection, signer), heartbeat }
}

/** @param onAnew the buckets are others than before, though the connection did not break */
const sendHeartbeats = async (
  { heartbeat }: ReportBuckets,
  { device, clock, log }: AgentOptions,
  onAnew: () => void,
  signal: AbortSignal,
): Promise<void> => {
  const boot = randomUUID()
  let last = 0
  while (!signal.aborted) {
    let isHeard = false
    try {
      const at = clock.now().toISOString()
      const revision = await heartbeat.put(deviceKey(device), heartbeatCodec.encode({ boot, at }, 0))
      isHeard = true
      // Within one store they only grow.
      if (revision <= last) onAnew()
      last = revision
    } catch (error) {
      log.debug('a heartbeat could not be sent, the next one follows in 2 s', { problem: messageOf(error) })
    }
    await clock.sleep(isHeard ? HEARTBEAT_INTERVAL : RETRY_DELAY_MS, signal)
  }
}

/** A bucket of reports may be made anew alone, and only a look at it shows that. */
const checkReports = async (
  reports: StateReporter,
  buckets: ReportBuckets,
  { clock, log }: AgentOptions,
  signal: AbortSignal,
): Promise<void> => {
  for (;;) {
    await clock.sleep(HEARTBEAT_INTERVAL, signal)
    if (signal.aborted) return
    try {
      await reports.checkStored(buckets)
    } catch (error) {
      log.debug('reports could not be looked for in NATS, the next look follows with a heartbeat', {
        problem: messageOf(error),
      })
    }
  }
}
