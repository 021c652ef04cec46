/** All clusters of the service: which there are, whose they are, and how many each project may have. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../process/ports.ts'
import { Cluster, type ClusterSummary, type ClusterView } from './cluster.ts'
import { Etcd } from './etcd.ts'
import { Problem } from './problem.ts'
import { type ClusterRecord, type ClusterSpec, RecordStore } from './record.ts'

/** A client of the service. */
export interface Project {
  readonly project: string
  readonly token: string
  /** How many clusters it may have, hibernated ones among them. */
  readonly clusters: number
}

export interface LocalClustersOptions {
  /** All state: etcd's data, and a folder a cluster. */
  readonly folder: string
  readonly binaries: string
  /** Of the certificates of API servers and their clients. Milliseconds. */
  readonly validityMs: number
  /** What runs ends with us, however we end. */
  readonly guarded: boolean
  readonly onProblem: (problem: string) => void
}

/** What a client asks for, and what it is given where it says nothing. */
export type RequestedSpec = Partial<ClusterSpec>

const DEFAULTS: ClusterSpec = { power: 'Running', serviceCidr: '10.0.0.0/24', featureGates: '', domain: '' }

const ETCD_INTERVAL_MS = 1_000

export class LocalClusters {
  readonly #options: LocalClustersOptions
  readonly #records: RecordStore
  readonly #etcd: Etcd
  readonly #clusters = new Map<string, Cluster>()
  readonly #running = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  /** Creations and changes go one after the other: a request that is sent again while the first one is at work finds its cluster. */
  #last: Promise<unknown> = Promise.resolve()

  private constructor(options: LocalClustersOptions) {
    const { folder, binaries, guarded } = options
    this.#options = options
    this.#records = new RecordStore(join(folder, 'clusters'))
    this.#etcd = new Etcd({ folder: join(folder, 'etcd'), binaries, guarded })
  }

  /** Goes on with everything of before. @param options.folder absolute */
  static async open(options: LocalClustersOptions): Promise<LocalClusters> {
    const clusters = new LocalClusters(options)
    const records = await clusters.#records.load()
    await clusters.#etcd.ensureRunning()
    for (const record of records) await clusters.#start(record)
    clusters.#keep(clusters.#watchEtcd())
    return clusters
  }

  list(project: string): readonly ClusterSummary[] {
    return this.#of(project).map(({ summary }) => summary)
  }

  /** @throws Problem */
  get(project: string, name: string): ClusterView {
    return this.#require(project, name).view
  }

  /** The same name is the same cluster: a request whose answer was lost can be sent again. @throws Problem */
  create(
    { project, clusters: quota }: Project,
    name: string,
    requested: RequestedSpec,
  ): Promise<{ readonly isNew: boolean; readonly view: ClusterView }> {
    return this.#inTurn(async () => {
      const spec = { ...DEFAULTS, ...requested }
      const there = this.#find(project, name)
      if (there !== undefined) {
        refuseDeleting(there)
        if (!isSame(there.record.spec, spec))
          throw new Problem(409, 'Exists', `cluster ${name} is there with another spec: PUT changes it`)
        return { isNew: false, view: there.view }
      }
      const used = this.#of(project).length
      if (used >= quota)
        throw new Problem(
          403,
          'QuotaExceeded',
          `project ${project} has ${used} of ${quota} clusters: delete one, or ask for a larger quota`,
        )
      const identity = { name, uid: randomUUID(), project, createdAt: new Date().toISOString() }
      const record = { ...identity, spec, port: await this.#freePort(), deleting: false }
      await this.#records.save(record)
      const cluster = await this.#start(record)
      return { isNew: true, view: cluster.view }
    })
  }

  /** @throws Problem */
  change(project: string, name: string, requested: RequestedSpec): Promise<ClusterView> {
    return this.#inTurn(async () => {
      const cluster = this.#require(project, name)
      const { spec: before } = cluster.record
      const spec = { ...before, ...requested }
      refuseDeleting(cluster)
      for (const field of ['serviceCidr', 'featureGates'] as const)
        if (spec[field] !== before[field])
          throw new Problem(409, 'Immutable', `${field} of cluster ${name} is "${before[field]}" and can't be changed`)
      if (spec.power !== before.power || spec.domain !== before.domain) await cluster.change({ spec })
      return cluster.view
    })
  }

  /** Begins its deletion. @param uid of the cluster that is meant; undefined: whichever has the name. @throws Problem */
  remove(project: string, name: string, uid: string | undefined): Promise<ClusterView> {
    return this.#inTurn(async () => {
      const cluster = this.#require(project, name)
      if (uid !== undefined && uid !== cluster.record.uid)
        throw new Problem(412, 'AnotherCluster', `cluster ${name} is another one by now: ${cluster.record.uid}`)
      if (!cluster.record.deleting) await cluster.change({ deleting: true })
      return cluster.view
    })
  }

  /** The clusters go on, unless they end with us. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#last
    await Promise.all(this.#running)
    if (this.#options.guarded) {
      await Promise.all([...this.#clusters.values()].map((cluster) => cluster.kill()))
      await this.#etcd.stop()
    }
    await this.#etcd.close()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  #of(project: string): readonly Cluster[] {
    return [...this.#clusters.values()].filter(({ record }) => record.project === project)
  }

  #find(project: string, name: string): Cluster | undefined {
    return this.#of(project).find(({ record }) => record.name === name)
  }

  #require(project: string, name: string): Cluster {
    const cluster = this.#find(project, name)
    if (cluster === undefined) throw new Problem(404, 'NotFound', `project ${project} has no cluster ${name}`)
    return cluster
  }

  async #start(saved: ClusterRecord): Promise<Cluster> {
    // One of an earlier release says less.
    const record = { ...saved, spec: { ...DEFAULTS, ...saved.spec } }
    const cluster = await Cluster.open(record, { ...this.#options, records: this.#records, etcd: this.#etcd })
    this.#clusters.set(record.uid, cluster)
    const onProblem = (error: unknown) => this.#options.onProblem(`cluster ${record.name}: ${(error as Error).message}`)
    const work = cluster.run(this.#closing.signal, onProblem).then(() => {
      if (!this.#closing.signal.aborted) this.#clusters.delete(record.uid)
    })
    this.#keep(work)
    return cluster
  }

  #keep(work: Promise<void>): void {
    this.#running.add(work)
    void work.finally(() => this.#running.delete(work))
  }

  /** API servers outlive their etcd and go on with the next one. */
  async #watchEtcd(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#etcd.ensureRunning()
      } catch (error) {
        this.#options.onProblem((error as Error).message)
      }
      await delay(ETCD_INTERVAL_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** One that no cluster has, hibernated ones included. */
  async #freePort(): Promise<number> {
    const usedPorts = new Set([...this.#clusters.values()].map(({ record }) => record.port))
    for (;;) {
      const port = await freePort()
      if (!usedPorts.has(port)) return port
    }
  }
}

const isSame = (spec: ClusterSpec, requested: ClusterSpec): boolean =>
  (Object.keys(DEFAULTS) as (keyof ClusterSpec)[]).every((field) => spec[field] === requested[field])

/** @throws Problem */
const refuseDeleting = ({ record: { name, deleting } }: Cluster): void => {
  if (deleting) throw new Problem(409, 'Deleting', `cluster ${name} is being deleted`)
}
