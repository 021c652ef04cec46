/** One cluster: brings what runs in line with its record, step by step, until it is gone. */
import { systemClock } from '#operator/model/clock.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import { lastLines } from '../process/child.ts'
import { ControlPlane, type ControlPlaneOptions, PARTS } from './control-plane.ts'
import { findDaemon, logFileOf } from './daemon.ts'
import {
  nextStep,
  type Observed,
  type Readiness,
  readinessOf,
  retryDelay,
  type State,
  type Step,
  stateOf,
} from './decide.ts'
import { type Etcd, prefixOf } from './etcd.ts'
import type { ClusterRecord, RecordStore } from './record.ts'

export interface ClusterOptions extends Omit<ControlPlaneOptions, 'folder' | 'etcdUrl'> {
  readonly records: RecordStore
  readonly etcd: Etcd
}

/** A cluster as clients see it in a list. */
export interface ClusterSummary extends Omit<ClusterRecord, 'project' | 'spec' | 'port' | 'deleting'> {
  readonly power: string
  readonly serviceCidr: string
  readonly featureGates: string
  readonly domain: string
  readonly state: State
  /** https://host:port */
  readonly server: string
  readonly status: { readonly conditions: readonly (Readiness & { readonly type: 'Ready' })[] }
}

export interface ClusterView extends ClusterSummary {
  /** Of its admin, as base64. It is another one when its certificate was renewed. */
  readonly kubeconfig: string
}

/** While something goes on, and while all is as it should be. Milliseconds. */
const [BUSY_INTERVAL_MS, IDLE_INTERVAL_MS] = [100, 1_000]
const PROBLEM_INTERVAL_MS = 2_000
/** How many times in the life of a certificate it is looked at, at least. */
const LOOKS_AT_CERTIFICATES = 30
const MAX_CERTIFICATE_INTERVAL_MS = 60_000

export class Cluster {
  #record: ClusterRecord
  readonly #options: ClusterOptions
  readonly #plane: ControlPlane
  #observed: Observed
  /** Numbers of API servers: of the one that has been ready, and of the one that has not been yet. */
  #readyPid: number | undefined
  #startingPid: number | undefined
  #certificatesDueAt = 0
  #kubeconfig = ''
  readonly #wake = new WakeSignal(systemClock)

  private constructor(record: ClusterRecord, options: ClusterOptions) {
    this.#record = record
    this.#options = options
    const folder = options.records.folderOf(record)
    this.#plane = new ControlPlane(record, { ...options, folder, etcdUrl: options.etcd.url })
    const { spec, deleting } = record
    const nothing = { apiServer: 'absent', controllerManager: 'absent', failures: 0, retryAt: 0 } as const
    this.#observed = { power: spec.power, deleting, ...nothing }
  }

  /** Of a record that is saved; what already runs of it goes on. */
  static async open(record: ClusterRecord, options: ClusterOptions): Promise<Cluster> {
    const cluster = new Cluster(record, options)
    await cluster.#renewCredentials(Date.now())
    await cluster.#observe(Date.now())
    return cluster
  }

  get record(): ClusterRecord {
    return this.#record
  }

  /** Resolves when the change is on disk; the work on it goes on. */
  async change(change: Partial<Pick<ClusterRecord, 'spec' | 'deleting'>>): Promise<void> {
    const changed = { ...this.#record, ...change }
    await this.#options.records.save(changed)
    this.#record = changed
    this.#kubeconfig = await this.#plane.kubeconfig(changed)
    this.#wake.wake()
  }

  get view(): ClusterView {
    return { ...this.summary, kubeconfig: Buffer.from(this.#kubeconfig).toString('base64') }
  }

  get summary(): ClusterSummary {
    const { name, uid, createdAt, spec, deleting } = this.#record
    const observed = { ...this.#observed, power: spec.power, deleting }
    return {
      name,
      uid,
      createdAt,
      ...spec,
      state: stateOf(observed),
      server: this.#plane.server,
      status: { conditions: [{ type: 'Ready', ...readinessOf(observed, this.#lastWords(observed)) }] },
    }
  }

  #lastWords({ failures, deleting }: Observed): string {
    return failures === 0 || deleting ? '' : lastLines(logFileOf(this.#plane.daemon('kube-apiserver')), 1)
  }

  /** Works until it is removed, or the signal aborts. @param onProblem told about what failed and is tried again */
  async run(signal: AbortSignal, onProblem: (error: unknown) => void): Promise<void> {
    while (!signal.aborted) {
      let pauseMs = PROBLEM_INTERVAL_MS
      try {
        const step = await this.#reconcile(Date.now())
        if (step.do === 'RemoveData') return
        pauseMs = step.do === 'Nothing' ? IDLE_INTERVAL_MS : BUSY_INTERVAL_MS
      } catch (error) {
        onProblem(error)
      }
      await this.#wake.wait(pauseMs, signal)
    }
  }

  /** Looks, and takes one step. @param now milliseconds since the epoch */
  async #reconcile(now: number): Promise<Step> {
    if (!this.#record.deleting && now >= this.#certificatesDueAt) await this.#renewCredentials(now)
    const step = nextStep(await this.#observe(now), now)
    switch (step.do) {
      case 'Start':
        await this.#options.etcd.ensureRunning()
        await this.#plane.start(step.part)
        break
      case 'Stop':
        await this.#plane.stop(step.part, this.#record.deleting ? 0 : undefined)
        break
      case 'RemoveData':
        await this.#options.etcd.ensureRunning()
        await this.#options.etcd.removePrefix(prefixOf(this.#record.uid))
        await this.#options.records.remove(this.#record)
        break
      case 'Wait':
      case 'Nothing':
    }
    return step
  }

  async #renewCredentials(now: number): Promise<void> {
    await this.#plane.ensureCredentials(now)
    this.#kubeconfig = await this.#plane.kubeconfig(this.#record)
    const interval = Math.min(this.#options.validityMs / LOOKS_AT_CERTIFICATES, MAX_CERTIFICATE_INTERVAL_MS)
    this.#certificatesDueAt = now + interval
  }

  async #observe(now: number): Promise<Observed> {
    const { spec, deleting } = this.#record
    const pid = await findDaemon(this.#plane.daemon('kube-apiserver'))
    const isControlled = await this.#plane.isRunning('kube-controller-manager')
    const isReady = pid !== undefined && (pid === this.#readyPid || (await this.#plane.isReady()))
    // It ended before it was ready, and not because it was asked to.
    const hasFailed = this.#startingPid !== undefined && pid !== this.#startingPid && spec.power === 'Running'
    const { failures: before, retryAt } = this.#observed
    const failures = isReady ? 0 : before + (hasFailed ? 1 : 0)
    this.#readyPid = isReady ? pid : undefined
    this.#startingPid = isReady ? undefined : pid
    this.#observed = {
      power: spec.power,
      deleting,
      apiServer: pid === undefined ? 'absent' : isReady ? 'ready' : 'starting',
      controllerManager: isControlled ? 'running' : 'absent',
      failures,
      retryAt: hasFailed ? now + retryDelay(failures) : retryAt,
    }
    return this.#observed
  }

  /** Kills its processes. */
  async kill(): Promise<void> {
    for (const part of PARTS.toReversed()) await this.#plane.stop(part, 0)
  }
}
