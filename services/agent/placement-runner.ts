/** One Deployment on this device: what it is told, and what becomes of it. */

import { parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { type Phase, type State, shortened } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { WORKLOADS } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { messageOf } from '#operator/client/errors.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { type Accepted, type Answered, answerTo, judge } from './evaluate-entry.ts'
import { holdIn } from './hold-file.ts'
import type { Ledger, Remembered } from './placement-store.ts'
import type { Place, Report, Runners } from './workload-runner.ts'

export interface TenantDeps {
  readonly ledger: Ledger
  readonly runners: Runners
  readonly say: (key: string, state: State, generation: number) => void
  /** Takes the state away; resolves when it is gone from the store, or the signal aborts. */
  readonly unsay: (key: string, signal: AbortSignal) => Promise<void>
  /** It is gone from this device. @param next An entry that came meanwhile, for a tenant after this one */
  readonly onGone: (key: string, next: Uint8Array | undefined) => void
  readonly clock: Clock
  readonly log: Logger
}

/** What a tenant works towards. */
type Goal = { readonly do: 'Run'; readonly accepted: Accepted } | { readonly do: 'Remove' } | undefined

/** An entry that can't be run, and whom the complaint answers. */
interface Refusal {
  readonly reason: string
  readonly answered: Answered
}

/** An entry that is not taken now, because the device holds changes back. */
interface Held {
  readonly bytes: Uint8Array
  readonly message: string
}

const RETRY = '5s'
/** How often it is looked whether the device still holds changes back. */
const LOOK = '2s'

export class Tenant {
  readonly #deps: TenantDeps
  readonly #place: Place
  #accepted: Accepted | undefined
  #goal: Goal
  /** An entry that came while this one is being taken away: it begins when nothing of this one is left. */
  #next: Uint8Array | undefined
  /** An entry that came later and can't be run. */
  #refused: Refusal | undefined
  #held: Held | undefined
  #waiting: Promise<void> | undefined
  /** What is told of its key is taken in one after the other. */
  #taking: Promise<void> = Promise.resolve()
  #last: { readonly phase: Phase; readonly message: string | undefined } = { phase: 'Pending', message: undefined }
  /** Aborted when the goal is another one. */
  #change = new AbortController()
  readonly #closing = new AbortController()
  #working: Promise<void> | undefined

  constructor(remembered: Remembered, deps: TenantDeps) {
    const { key, accepted, isRemoving } = remembered
    const { namespace, deployment } = parsePlacementKey(key)
    this.#deps = deps
    this.#place = { key, deployment: `${namespace}/${deployment}`, folder: deps.ledger.folderOf(key) }
    this.#accepted = accepted
    if (isRemoving) this.#aim({ do: 'Remove' })
    else if (accepted !== undefined) this.#aim({ do: 'Run', accepted })
  }

  /** Its entry in fleet-desired, which may be the one that it has. */
  offer(bytes: Uint8Array): Promise<void> {
    return this.#inTurn(() => this.#take(bytes))
  }

  /** Its key was deleted. */
  withdraw(): Promise<void> {
    return this.#inTurn(() => this.#drop())
  }

  /** Stops tending. @param halt also what runs on this machine */
  async close(halt: boolean): Promise<void> {
    this.#closing.abort()
    this.#change.abort()
    await Promise.all([this.#working, this.#waiting])
    if (halt) for (const type of WORKLOADS) await this.#deps.runners[type].halt(this.#place)
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#taking.then(work)
    this.#taking = done.catch(() => undefined)
    return done
  }

  async #take(bytes: Uint8Array): Promise<void> {
    const { log, ledger } = this.#deps
    const { key, deployment, folder } = this.#place
    if (this.#goal?.do === 'Remove') {
      this.#next = bytes
      return
    }
    const verdict = judge(bytes, this.#accepted)
    switch (verdict.verdict) {
      case 'Older':
        log.warn('an older revision is not taken', { deployment, reason: verdict.reason })
        this.#listen(undefined)
        return
      case 'Refuse':
        log.warn('an entry is not taken', { deployment, reason: verdict.reason })
        this.#listen({ reason: verdict.reason, answered: verdict.answered ?? this.#answered() })
        return
      case 'Same':
        this.#listen(undefined)
        return
      case 'Renumber':
        await ledger.accept(key, bytes)
        this.#accepted = verdict.accepted
        this.#listen(undefined)
        return
      case 'Run': {
        const { revision } = verdict.accepted.entry.payload
        const reason = this.#isUpdate(verdict.accepted) ? await holdIn(folder) : undefined
        if (reason !== undefined) {
          this.#holdBack({ bytes, message: `revision ${revision} is held back: ${reason}` })
          return
        }
        await ledger.accept(key, bytes)
        log.info('a revision is taken', { deployment, revision })
        this.#accepted = verdict.accepted
        this.#refused = undefined
        this.#held = undefined
        this.#aim({ do: 'Run', accepted: verdict.accepted })
      }
    }
  }

  async #drop(): Promise<void> {
    this.#next = undefined
    if (this.#goal?.do === 'Remove') return
    await this.#deps.ledger.removing(this.#place.key)
    this.#deps.log.info('it is taken away', { deployment: this.#place.deployment })
    this.#refused = undefined
    this.#held = undefined
    this.#aim({ do: 'Remove' })
  }

  /** Of the same Deployment as what is there: one that was made anew comes after a deletion, which nobody holds back. */
  #isUpdate({ entry }: Accepted): boolean {
    return this.#accepted?.entry.payload.owner.uid === entry.payload.owner.uid
  }

  #holdBack(held: Held): void {
    if (this.#held?.message !== held.message) this.#deps.log.info(held.message, { deployment: this.#place.deployment })
    this.#refused = undefined
    this.#held = held
    this.#say()
    this.#waiting ??= this.#untilReleased().finally(() => {
      this.#waiting = undefined
    })
  }

  async #untilReleased(): Promise<void> {
    const { clock, log } = this.#deps
    const { signal } = this.#closing
    while (this.#held !== undefined && !signal.aborted) {
      await clock.sleep(LOOK, signal)
      if (signal.aborted) return
      await this.#inTurn(async () => {
        if (this.#held !== undefined) await this.#take(this.#held.bytes)
      }).catch((error: unknown) => log.error('an entry could not be taken', { key: this.#place.key, error }))
    }
  }

  #aim(goal: Goal): void {
    this.#goal = goal
    this.#change.abort()
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
    })
  }

  /** Until it is gone or the agent ends. */
  async #work(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const goal = this.#goal
      this.#change = new AbortController()
      const signal = AbortSignal.any([this.#change.signal, this.#closing.signal])
      try {
        if (goal?.do === 'Run') await this.#run(goal.accepted, signal)
        else if (await this.#remove(signal)) return
      } catch (error) {
        this.#deps.log.error('it is begun again', { deployment: this.#place.deployment, error })
        this.#report('Failed', messageOf(error))
        await this.#deps.clock.sleep(RETRY, signal)
      }
    }
  }

  async #run(accepted: Accepted, signal: AbortSignal): Promise<void> {
    const { score } = accepted.entry.payload
    const report = this.#reportUntil(signal)
    report('Pending', undefined)
    for (const type of WORKLOADS)
      if (type !== score.type) await this.#deps.runners[type].remove(this.#place, report, signal)
    if (!signal.aborted) await this.#deps.runners[score.type].tend(this.#place, score, report, signal)
  }

  /** Whether nothing of it is left. */
  async #remove(signal: AbortSignal): Promise<boolean> {
    const { runners, ledger, unsay, onGone, log } = this.#deps
    const { key, deployment } = this.#place
    const report = this.#reportUntil(signal)
    for (const type of WORKLOADS) await runners[type].remove(this.#place, report, signal)
    if (!signal.aborted) await unsay(key, signal)
    if (signal.aborted) return false
    await ledger.forget(key)
    log.info('it is gone', { deployment })
    onGone(key, this.#next)
    return true
  }

  /** What belongs to an earlier goal is not told any more. */
  #reportUntil(signal: AbortSignal): Report {
    return (phase, message) => {
      if (!signal.aborted) this.#report(phase, message)
    }
  }

  #report(phase: Phase, message: string | undefined): void {
    this.#last = { phase, message }
    this.#say()
  }

  #listen(refused: Refusal | undefined): void {
    this.#refused = refused
    this.#held = undefined
    this.#say()
  }

  #say(): void {
    const { uid, revision, generation } = this.#refused?.answered ?? this.#answered()
    const { phase, message } = this.#said()
    const at = this.#deps.clock.now().toISOString()
    const said = message === undefined ? {} : { message: shortened(message) }
    const hold = this.#held === undefined ? {} : { hold: true }
    this.#deps.say(this.#place.key, { phase, uid, revision, at, ...said, ...hold }, generation)
  }

  #said(): { readonly phase: Phase; readonly message: string | undefined } {
    if (this.#refused !== undefined) return this.#complaint(this.#refused.reason)
    return this.#held === undefined ? this.#last : { phase: this.#last.phase, message: this.#held.message }
  }

  #complaint(reason: string): { readonly phase: Phase; readonly message: string } {
    const running = this.#accepted?.entry.payload.revision
    return { phase: 'Failed', message: running === undefined ? reason : `${reason}; revision ${running} goes on` }
  }

  /** Of an entry that could never be read nobody knows whose it is: such a state is for people alone. */
  #answered(): Answered {
    return this.#accepted === undefined
      ? { uid: 'unknown', revision: 1, generation: 0 }
      : answerTo(this.#accepted.entry)
  }
}
