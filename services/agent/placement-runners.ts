import { parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { EntryVerifier } from './entry-verifier.ts'
import type { StateReporter } from './nats/state-reporter.ts'
import type { DesiredListener, WrittenEntry } from './nats/watch-desired.ts'
import { PlacementRunner } from './placement-runner.ts'
import type { PlacementStore, StoredPlacement } from './placement-store.ts'
import { RefusedEntries } from './refused-entries.ts'
import type { RemovedEntries } from './removed-entries.ts'
import type { LocalPlacement, WorkloadRunners } from './workload-runner.ts'

export interface PlacementRunnersOptions {
  readonly device: string
  readonly store: PlacementStore
  readonly runners: WorkloadRunners
  readonly holdFilesOf: (placement: LocalPlacement) => readonly string[]
  readonly verifier: EntryVerifier
  readonly removed: RemovedEntries
  readonly reports: StateReporter
  readonly clock: Clock
  readonly log: Logger
}

/** All Deployments of this device. */
export class PlacementRunners {
  readonly #options: PlacementRunnersOptions
  readonly #byKey = new Map<string, PlacementRunner>()
  readonly #refused: RefusedEntries
  readonly #closing = new AbortController()

  constructor(options: PlacementRunnersOptions) {
    this.#options = options
    this.#refused = new RefusedEntries(options)
  }

  /** Goes on with what is on the disk, before NATS is asked. */
  async resumeStored(): Promise<void> {
    for (const remembered of await this.#options.store.readAll())
      if (parsePlacementKey(remembered.key).device === this.#options.device) this.#start(remembered)
  }

  /** Takes what the watch tells. @param onReplayed everything that there was has been told */
  listener(onReplayed: () => void): DesiredListener {
    const missing = new Set(this.#byKey.keys())
    this.#refused.startReading()
    return {
      onEntry: async (key, entry) => {
        missing.delete(key)
        if (this.#isOwn(key)) await this.#entryWritten(key, entry)
      },
      onDeleted: async (key, position) => {
        missing.delete(key)
        const runner = this.#byKey.get(key)
        if (runner !== undefined) await runner.entryDeleted(position)
        else detach('taking back the report of an entry', this.#refused.delete(key, this.#closing.signal))
      },
      onLost: (key) => {
        missing.delete(key)
        if (this.#byKey.has(key))
          this.#options.log.warn('the server removed an entry, and none was deleted: it stays', { key })
      },
      onReplayed: () => {
        onReplayed()
        this.#refused.finishReading()
        for (const key of missing)
          this.#options.log.warn('a Deployment has no entry, and none was deleted: it stays', { key })
        missing.clear()
      },
    }
  }

  /** @param halt also what runs on this machine */
  async close(halt: boolean): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#byKey.values()].map((runner) => runner.close(halt)))
  }

  /** A signature says for which key an entry is, and not by which consumer it came. AGENT-48. */
  #isOwn(key: string): boolean {
    const problem = this.#findKeyProblem(key)
    if (problem !== undefined) this.#options.log.warn('an entry is skipped', { key, problem })
    return problem === undefined
  }

  #findKeyProblem(key: string): string | undefined {
    try {
      const { device } = parsePlacementKey(key)
      return device === this.#options.device ? undefined : 'it is for another device'
    } catch (error) {
      if (!(error instanceof MalformedEntry)) throw error
      return error.message
    }
  }

  /** Where nothing runs, nothing begins by an entry that is not the operator's. */
  async #entryWritten(key: string, entry: WrittenEntry): Promise<void> {
    if (!this.#byKey.has(key)) {
      const problem = await this.#options.verifier.findProblem(key, entry.bytes, entry.signature)
      if (problem !== undefined) {
        this.#refused.refuse(key, entry.bytes, problem)
        return
      }
      this.#refused.release(key)
    }
    await this.#getOrStart(key).entryWritten(entry)
  }

  #getOrStart(key: string): PlacementRunner {
    return (
      this.#byKey.get(key) ??
      this.#start({ key, accepted: undefined, signature: '', position: undefined, isRemoving: false })
    )
  }

  #start(remembered: StoredPlacement): PlacementRunner {
    const { reports, log } = this.#options
    const runner = new PlacementRunner(remembered, {
      ...this.#options,
      report: (key, state, generation) => reports.report(key, state, generation),
      clearReport: (key, signal) => reports.clear(key, signal),
      onRemoved: (key, next) => {
        this.#byKey.delete(key)
        if (next !== undefined && !this.#closing.signal.aborted)
          this.#entryWritten(key, next).catch((error: unknown) =>
            log.error('an entry could not be taken', { key, error }),
          )
      },
    })
    this.#byKey.set(remembered.key, runner)
    return runner
  }
}
