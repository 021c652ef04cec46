/** The daemon of one AdapterTask: loads the task, works on it, begins anew when it changes, and writes its status. */
import type { AdapterTask, AdapterTaskStatus } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { impersonating, serviceAccountUser } from '#operator/client/impersonation.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { Bell } from '#operator/model/bell.ts'
import { monotonic } from '#operator/model/clock.ts'
import { toMilliseconds } from '#operator/model/duration.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import { formatSelector, selectorOf } from '#operator/model/selector.ts'
import type { Access } from './access.ts'
import { queueSource } from './events/queue.ts'
import type { DeadLetter, EventSource } from './events/source.ts'
import { Caller } from './http/caller.ts'
import { type OpenExchange, openExchange } from './http/exchange.ts'
import { taskLanguages } from './languages.ts'
import { Ledger } from './ledger.ts'
import type { Metrics } from './metrics.ts'
import { readTask } from './reading.ts'
import { type Situation, statusOf } from './status.ts'
import type { Task } from './task/form.ts'
import { InvalidTaskError } from './task/problem.ts'
import type { Kinds } from './transports/kinds.ts'
import { Worker } from './worker.ts'

export interface TendDeps {
  readonly metrics: Metrics
  /** Of this program, for `User-Agent`. */
  readonly version: string
  readonly access: Access
  /** What the API server serves, shared by all tasks. */
  kinds(context: DaemonContext<AdapterTask>): Kinds
  /** Rung when the spec of a task has changed, by uid. */
  readonly bells: Map<string, Bell>
}

/** How often the ConfigMap of a `taskRef` is read, in milliseconds. */
const REREAD = 15_000

export const tend =
  (deps: TendDeps) =>
  async (context: DaemonContext<AdapterTask>): Promise<void> => {
    const tending = new Tending(deps, context)
    await tending.run()
  }

class Tending {
  readonly #deps: TendDeps
  readonly #context: DaemonContext<AdapterTask>
  readonly #reload: Bell
  readonly #news: Bell
  readonly #ledger: Ledger
  #worker: Worker | undefined
  #invalid: string | undefined
  #generation: number | undefined

  constructor(deps: TendDeps, context: DaemonContext<AdapterTask>) {
    this.#deps = deps
    this.#context = context
    this.#reload = new Bell(context.clock)
    this.#news = new Bell(context.clock)
    const { processed = 0, failed = 0, skipped = 0, deadLetters = 0 } = context.status ?? {}
    this.#ledger = new Ledger({ processed, failed, skipped, deadLetters })
  }

  async run(): Promise<void> {
    const { bells } = this.#deps
    const { uid } = this.#context.object.metadata
    bells.set(uid, this.#reload)
    try {
      await Promise.all([this.#work(), this.#report()])
    } finally {
      bells.delete(uid)
      await this.#write()
    }
  }

  /** Works on the task as it is written now, and anew when that has changed. */
  async #work(): Promise<void> {
    const { signal, log } = this.#context
    let running: { readonly text: string; readonly end: AbortController; readonly ended: Promise<void> } | undefined
    while (!signal.aborted) {
      const wanted = await this.#wanted()
      const text = wanted === undefined ? '' : wanted.text
      if (running !== undefined && running.text !== text) {
        running.end.abort(new Error('the task has changed'))
        await running.ended
        running = undefined
        this.#worker = undefined
      }
      if (running === undefined && wanted !== undefined) {
        const end = new AbortController()
        const both = AbortSignal.any([signal, end.signal])
        const ended = this.#begin(wanted.task, both).catch((error: unknown) => {
          log.error('the work on a task broke off', { err: error })
        })
        running = { text, end, ended }
      }
      this.#news.ring()
      await this.#reload.wait(REREAD, signal)
    }
    await running?.ended
  }

  /** The task to run, and everything that decides how, as text; undefined when there is none to run. */
  async #wanted(): Promise<{ readonly task: Task; readonly text: string } | undefined> {
    const { spec, object, log, events } = this.#context
    this.#generation = object.metadata.generation
    try {
      const { task, text } = await readTask(spec, {
        api: impersonated(this.#context),
        namespace: this.#context.namespace ?? 'default',
        access: this.#deps.access,
        languages: taskLanguages(() => this.#context.clock.now()),
        signal: this.#context.signal,
      })
      this.#invalid = undefined
      return spec.suspend === true ? undefined : { task, text: JSON.stringify(spec) + text }
    } catch (error) {
      if (!(error instanceof InvalidTaskError)) throw error
      if (this.#invalid !== error.message) {
        log.warn('the task is invalid', { problem: error.message })
        events.warning('InvalidTask', error.message.slice(0, 1_000))
      }
      this.#invalid = error.message
      return undefined
    }
  }

  async #begin(task: Task, signal: AbortSignal): Promise<void> {
    const { metrics, version, access, kinds } = this.#deps
    const { spec, clock, log, name, events } = this.#context
    const userAgent = `muster-adapter/${version} (${name})`
    const { url, timeout, tokenPath } = spec.hyperfleetAPI
    const own = openExchange({ base: url, userAgent })
    const others = openExchange({ userAgent })
    const limit = toMilliseconds(timeout ?? '10s')
    const caller = new Caller({ exchange: own.exchange, clock, timeout: limit, tokenFile: tokenPath })
    const worker = new Worker({
      task,
      selector: selectorOf(spec.selector ?? {}),
      source: await this.#source(caller),
      caller,
      otherCaller: new Caller({ exchange: others.exchange, clock, timeout: limit }),
      transport: impersonated(this.#context).transport,
      kinds: kinds(this.#context),
      access,
      config: {
        adapter: { name: task.adapter.name, version: task.adapter.version },
        clients: { hyperfleet_api: { base_url: url, version: 'v1' } },
      },
      maxConcurrent: spec.events.maxConcurrent,
      visibility: toMilliseconds(spec.events.visibility),
      ledger: this.#ledger,
      metrics,
      clock,
      log: log.child({ adapter: task.adapter.name }),
      changed: () => this.#news.ring(),
      turned: ({ event, failures }, isFailing) => {
        const { id = '' } = event as { readonly id?: string }
        if (isFailing) events.warning('RunFailed', `${id}: ${failures[0]?.message ?? 'failed'}`.slice(0, 1_000))
        else events.normal('RunRecovered', `${id}: the last run did not fail`)
      },
    })
    this.#worker = worker
    try {
      await worker.run(signal)
    } finally {
      await closeAll(own, others)
    }
  }

  async #source(caller: Caller): Promise<EventSource> {
    const { spec, name, namespace = 'default', log } = this.#context
    const { transport, url, consumer = `${namespace}-${name}`.slice(0, 63), visibility } = spec.events
    const common = {
      consumer,
      resourceType: spec.resourceType,
      visibility: toMilliseconds(visibility),
      onDeadLetter: (letter: DeadLetter) => {
        log.warn('a message is no event and was set aside', { ...letter })
        this.#context.events.warning('DeadLetter', letter.problem)
        this.#deps.metrics.deadLetters.inc({ adapter_name: spec.adapter.name })
        this.#ledger.deadLetters++
        this.#news.ring()
      },
    }
    if (transport !== 'nats' || url === undefined)
      return queueSource({ ...common, caller, selector: formatSelector(selectorOf(spec.selector ?? {})) })
    const { jetStreamSource } = await import('./events/jetstream.ts')
    return jetStreamSource({ ...common, url, name: `muster-adapter ${namespace}/${name}` })
  }

  get #situation(): Situation {
    const worker = this.#worker
    return {
      generation: this.#generation,
      invalid: this.#invalid,
      suspended: this.#context.spec.suspend === true,
      connected: worker?.connected ?? false,
      sourceProblem: worker?.sourceProblem,
      blind: worker?.blind ?? new Map(),
      inFlight: worker?.inFlight ?? 0,
      summary: this.#ledger.summary(this.#context.clock.now().getTime()),
    }
  }

  /** Writes the status when it has changed: at once, but at most once a second. */
  async #report(): Promise<void> {
    const { signal, clock } = this.#context
    let notBefore = Number.NEGATIVE_INFINITY
    while (!signal.aborted) {
      const rest = notBefore - monotonic(clock)
      if (rest > 0) {
        await clock.sleep(rest, signal)
        continue
      }
      const written = await this.#write()
      notBefore = monotonic(clock) + (written ? PACE : AFTER_FAILURE)
      if (written) await this.#news.wait(LOOK_AGAIN, signal)
    }
  }

  #written: DeepPartial<AdapterTaskStatus> | undefined

  /** @returns whether the status is as it should be */
  async #write(): Promise<boolean> {
    const { status, clock, patch, log } = this.#context
    const before = (this.#written ?? status)?.conditions ?? undefined
    const next = statusOf(this.#situation, before, clock.now())
    if (JSON.stringify(next) === JSON.stringify(this.#written)) return true
    patch.status(next)
    try {
      await this.#context.send()
      this.#written = next
      return true
    } catch (error) {
      log.warn('the status could not be written', { problem: error instanceof Error ? error.message : String(error) })
      return false
    }
  }
}

/** Milliseconds. A deletion gets stuck by time alone, so the status is looked at without news too. */
const PACE = 1_000
const AFTER_FAILURE = 5_000
const LOOK_AGAIN = 60_000

/** The API server in the name of the task's ServiceAccount. */
const impersonated = ({ api, spec, namespace = 'default' }: DaemonContext<AdapterTask>) => ({
  transport: impersonating(api.transport, serviceAccountUser(namespace, spec.serviceAccountName)),
})

const closeAll = async (...exchanges: readonly OpenExchange[]): Promise<void> => {
  await Promise.all(exchanges.map((exchange) => exchange.close()))
}
