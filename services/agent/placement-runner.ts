/** Runs one Deployment on this device: accepts its entries, holds them back, removes it. AGENT-10, AGENT-18. */

import { parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import type { Phase, State } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { WORKLOADS } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { EntryPosition } from './entry-position.ts'
import type { EntryVerifier } from './entry-verifier.ts'
import type { StorePosition } from './evaluate-deletion.ts'
import { type AcceptedEntry, type EntryId, type EntryVerdict, evaluateEntry } from './evaluate-entry.ts'
import { readHoldReason } from './hold-file.ts'
import type { WrittenEntry } from './nats/watch-desired.ts'
import { toState } from './placement-state.ts'
import type { PlacementStore, StoredPlacement } from './placement-store.ts'
import type { RemovedEntries } from './removed-entries.ts'
import { StoredEntry } from './stored-entry.ts'
import type { LocalPlacement, ReportPhase, WorkloadRunners } from './workload-runner.ts'

export interface PlacementRunnerOptions {
  readonly store: PlacementStore
  readonly verifier: EntryVerifier
  readonly removed: RemovedEntries
  readonly runners: WorkloadRunners
  /** Files by which the device holds changes back. */
  readonly holdFilesOf: (placement: LocalPlacement) => readonly string[]
  readonly report: (key: string, state: State, generation: number) => void
  /** Takes the state away; resolves when it is gone from the store, or the signal aborts. */
  readonly clearReport: (key: string, signal: AbortSignal) => Promise<void>
  /** It is gone from this device. @param next An entry that came meanwhile, for a tenant after this one */
  readonly onRemoved: (key: string, next: WrittenEntry | undefined) => void
  readonly clock: Clock
  readonly log: Logger
}

/** What a tenant works towards. */
type Goal = { readonly do: 'Run'; readonly accepted: AcceptedEntry } | { readonly do: 'Remove' } | undefined

/** An entry that can't be run, and whom the complaint answers. */
type Refusal = Omit<Extract<EntryVerdict, { verdict: 'Refuse' }>, 'answered'> & { readonly answered: EntryId }

/** An entry that is not taken now, because the device holds changes back. */
interface HeldEntry {
  readonly entry: WrittenEntry
  readonly message: string
}

const RETRY_DELAY = '5s'
/** How often it is looked whether the device still holds changes back. */
const HOLD_CHECK_INTERVAL = '2s'

export class PlacementRunner {
  readonly #options: PlacementRunnerOptions
  readonly #placement: LocalPlacement
  readonly #position: EntryPosition
  readonly #stored: StoredEntry
  #goal: Goal
  /** An entry that came while this one is being taken away: it begins when nothing of this one is left. */
  #nextEntry: WrittenEntry | undefined
  /** An entry that came later and can't be run. */
  #refusal: Refusal | undefined
  #held: HeldEntry | undefined
  #holdCheck: Promise<void> | undefined
  /** What is told of its key is taken in one after the other. */
  #entryQueue: Promise<void> = Promise.resolve()
  #lastPhase: { readonly phase: Phase; readonly message: string | undefined } = { phase: 'Pending', message: undefined }
  /** Aborted when the goal is another one. */
  #goalChanged = new AbortController()
  readonly #closing = new AbortController()
  #work: Promise<void> | undefined

  constructor(remembered: StoredPlacement, deps: PlacementRunnerOptions) {
    const { key, accepted, position, isRemoving } = remembered
    const { namespace, deployment } = parsePlacementKey(key)
    this.#options = deps
    this.#placement = { key, deployment: `${namespace}/${deployment}`, folder: deps.store.folderOf(key) }
    this.#stored = new StoredEntry(remembered, deps)
    this.#position = new EntryPosition(this.#placement, position, deps)
    if (isRemoving) this.#setGoal({ do: 'Remove' })
    else if (accepted !== undefined) this.#setGoal({ do: 'Run', accepted })
  }

  /** Its entry in fleet-desired, which may be the one that it has. */
  entryWritten(entry: WrittenEntry): Promise<void> {
    return this.#enqueue(async () => {
      const problem = await this.#findProblem(entry)
      if (this.#goal?.do === 'Remove') {
        if (problem === undefined) this.#nextEntry = entry
        return
      }
      // Of what is not the operator's nothing counts, so deletions are not older than that either.
      if (problem === undefined) await this.#position.entryTold(entry.position, this.#stored.accepted !== undefined)
      await this.#handleEntry(entry, problem)
    })
  }

  /** Its key was deleted. */
  entryDeleted(position: StorePosition): Promise<void> {
    return this.#enqueue(() => this.#handleDeletion(position))
  }

  /** Stops tending. @param halt also what runs on this machine */
  async close(halt: boolean): Promise<void> {
    this.#closing.abort()
    this.#goalChanged.abort()
    await Promise.all([this.#work, this.#holdCheck])
    if (halt) for (const type of WORKLOADS) await this.#options.runners[type].stop(this.#placement)
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#entryQueue.then(work)
    this.#entryQueue = done.catch(() => undefined)
    return done
  }

  /** Why an entry is not known to be the operator's, by the keys that the device has now. */
  #findProblem({ bytes, signature }: Pick<WrittenEntry, 'bytes' | 'signature'>): Promise<string | undefined> {
    return this.#options.verifier.findProblem(this.#placement.key, bytes, signature)
  }

  async #handleEntry(entry: WrittenEntry, signatureProblem: string | undefined): Promise<void> {
    const { log, removed, holdFilesOf } = this.#options
    const { key, deployment } = this.#placement
    const present = await this.#stored.verify()
    const last = present?.isUnverified === false ? undefined : await removed.read(key)
    const verdict = evaluateEntry(entry.bytes, present, last, signatureProblem)
    switch (verdict.verdict) {
      case 'Older':
        log.warn('an older revision is not taken', { deployment, reason: verdict.reason })
        this.#setRefusal(undefined)
        return
      case 'Refuse':
        log.warn('an entry is not taken', { deployment, reason: verdict.reason })
        this.#setRefusal({ ...verdict, answered: verdict.answered ?? this.#stored.id })
        return
      case 'Same':
        if (signatureProblem === undefined) await this.#stored.takeSignature(entry.signature)
        this.#setRefusal(undefined)
        return
      case 'Renumber':
        await this.#take(verdict.accepted, entry)
        this.#setRefusal(undefined)
        return
      case 'Run': {
        const { revision } = verdict.accepted.entry.payload
        const reason = this.#stored.isUpdatedBy(verdict.accepted)
          ? await readHoldReason(holdFilesOf(this.#placement))
          : undefined
        if (reason !== undefined) {
          this.#holdBack({ entry, message: `revision ${revision} is held back: ${reason}` })
          return
        }
        await this.#take(verdict.accepted, entry)
        log.info('a revision is taken', { deployment, revision })
        this.#refusal = undefined
        this.#held = undefined
        this.#setGoal({ do: 'Run', accepted: verdict.accepted })
      }
    }
  }

  async #take(accepted: AcceptedEntry, written: WrittenEntry): Promise<void> {
    await this.#stored.take(accepted, written)
    this.#position.entryTaken(written.position)
  }

  async #handleDeletion(position: StorePosition): Promise<void> {
    if (this.#position.isOlder(position, this.#nextEntry?.position)) {
      this.#sendReport()
      return
    }
    this.#nextEntry = undefined
    if (this.#goal?.do === 'Remove') return
    await this.#options.store.markRemoving(this.#placement.key)
    this.#options.log.info('a workload is being removed', { deployment: this.#placement.deployment })
    this.#refusal = undefined
    this.#held = undefined
    this.#setGoal({ do: 'Remove' })
  }

  #holdBack(held: HeldEntry): void {
    if (this.#held?.message !== held.message)
      this.#options.log.info(held.message, { deployment: this.#placement.deployment })
    this.#refusal = undefined
    this.#held = held
    this.#sendReport()
    this.#holdCheck ??= this.#untilReleased().finally(() => {
      this.#holdCheck = undefined
    })
  }

  async #untilReleased(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#closing
    while (this.#held !== undefined && !signal.aborted) {
      await clock.sleep(HOLD_CHECK_INTERVAL, signal)
      if (signal.aborted) return
      await this.#enqueue(async () => {
        if (this.#held === undefined || this.#goal?.do === 'Remove') return
        const { entry } = this.#held
        await this.#handleEntry(entry, await this.#findProblem(entry))
      }).catch((error: unknown) => log.error('an entry could not be taken', { key: this.#placement.key, error }))
    }
  }

  #setGoal(goal: Goal): void {
    this.#goal = goal
    this.#goalChanged.abort()
    this.#work ??= this.#pursueGoal().finally(() => {
      this.#work = undefined
    })
  }

  /** Until it is gone or the agent ends. */
  async #pursueGoal(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const goal = this.#goal
      this.#goalChanged = new AbortController()
      using pursuit = new AbortScope(this.#goalChanged.signal, this.#closing.signal)
      const { signal } = pursuit
      try {
        if (goal?.do === 'Run') await this.#run(goal.accepted, signal)
        else if (await this.#remove(signal)) return
      } catch (error) {
        this.#options.log.error('a workload failed unexpectedly, it is started again', {
          deployment: this.#placement.deployment,
          error,
        })
        this.#setPhase('Failed', messageOf(error))
        await this.#options.clock.sleep(RETRY_DELAY, signal)
      }
    }
  }

  async #run(accepted: AcceptedEntry, signal: AbortSignal): Promise<void> {
    const { score } = accepted.entry.payload
    const report = this.#reportUntil(signal)
    report('Pending', undefined)
    for (const type of WORKLOADS)
      if (type !== score.type) await this.#options.runners[type].remove(this.#placement, report, signal)
    if (!signal.aborted) await this.#options.runners[score.type].run(this.#placement, score, report, signal)
  }

  /** Whether nothing of it is left. */
  async #remove(signal: AbortSignal): Promise<boolean> {
    const { runners, store, removed, clearReport, onRemoved, log } = this.#options
    const { key, deployment } = this.#placement
    const report = this.#reportUntil(signal)
    for (const type of WORKLOADS) await runners[type].remove(this.#placement, report, signal)
    if (!signal.aborted) await clearReport(key, signal)
    if (signal.aborted) return false
    const last = await this.#stored.verify()
    if (last?.isUnverified === false) await removed.note(key, last)
    await store.delete(key)
    log.info('a workload was removed', { deployment })
    // An entry that is being looked at is the next one; what comes after this is told to another runner.
    for (let queue: Promise<void> | undefined; queue !== this.#entryQueue; await queue) queue = this.#entryQueue
    onRemoved(key, this.#nextEntry)
    return true
  }

  /** What belongs to an earlier goal is not told any more. */
  #reportUntil(signal: AbortSignal): ReportPhase {
    return (phase, message) => {
      if (!signal.aborted) this.#setPhase(phase, message)
    }
  }

  #setPhase(phase: Phase, message: string | undefined): void {
    this.#lastPhase = { phase, message }
    this.#sendReport()
  }

  #setRefusal(refused: Refusal | undefined): void {
    this.#refusal = refused
    this.#held = undefined
    this.#sendReport()
  }

  #sendReport(): void {
    const answered = this.#refusal?.answered ?? this.#stored.id
    const isUnverified = this.#refusal?.isUnverified === true
    const answer = { answered, ...this.#phaseToReport(), isHeld: this.#held !== undefined, isUnverified }
    const state = toState(answer, this.#options.clock.now())
    this.#options.report(this.#placement.key, state, answered.generation)
  }

  #phaseToReport(): { readonly phase: Phase; readonly message: string | undefined } {
    if (this.#refusal !== undefined) return this.#explainRefusal(this.#refusal.reason)
    const { phase, message } = this.#lastPhase
    return { phase, message: this.#held?.message ?? message ?? this.#position.olderDeletion }
  }

  #explainRefusal(reason: string): { readonly phase: Phase; readonly message: string } {
    const running = this.#stored.accepted?.entry.payload.revision
    return { phase: 'Failed', message: running === undefined ? reason : `${reason}; revision ${running} goes on` }
  }
}
