/**
 * Asks the HyperFleet API every minute which adapters it requires, and tells what does not fit the tasks: in metrics, in the log,
 * and, task by task, in the condition Required. ADAPTER-99, ADAPTER-100, ADAPTER-135.
 */
import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { SourceContext } from '#operator/engine/context.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { createHttp, type Http, readJson } from '#services/hyperfleet-api/client/http.ts'
import type { Metrics } from '../metrics.ts'
import {
  type ComparedTask,
  comparedTask,
  compareRequired,
  judgeAmong,
  type KindRequirement,
  type RequiredCondition,
  type Requirements,
} from './compare-required.ts'
import { parseKinds } from './parse-kinds.ts'

export interface RequiredAdaptersOptions {
  /** Of the API that is asked. */
  readonly url: string
  readonly tokenFile: string | undefined
  readonly caFile: string | undefined
  readonly version: string
  /** Adapters that are done where this manager sees no task. */
  readonly elsewhere?: readonly string[]
  readonly metrics: Pick<Metrics, 'requirements'>
  /** The tasks that there are now. */
  tasks(): readonly AdapterTask[]
  /** What the API requires is known, or is something else than before. */
  onChange(): void
}

const INTERVAL_MS = 60_000
/** When the API does not answer. */
const RETRY_DELAY_MS = 5_000
/** Of one request, in milliseconds. */
const TIMEOUT_MS = 10_000

export class RequiredAdapters {
  readonly #options: RequiredAdaptersOptions
  #kinds: readonly KindRequirement[] | undefined
  #problem = 'the API has not been asked yet'
  #logged = ''

  constructor(options: RequiredAdaptersOptions) {
    this.#options = options
  }

  /** The condition Required of a task. */
  judge(task: AdapterTask): RequiredCondition {
    const { url, elsewhere = [] } = this.#options
    return judgeAmong(comparedTask(task, url), this.#kinds, this.#comparedTasks(), elsewhere, this.#problem)
  }

  /** Until the signal aborts. */
  async run({ clock, log, signal }: Pick<SourceContext, 'clock' | 'log' | 'signal'>): Promise<void> {
    const { url, tokenFile, caFile, version, metrics } = this.#options
    const userAgent = `muster-adapter/${version}`
    const http = createHttp({ url, tokenFile, caFile, clock, timeout: TIMEOUT_MS, userAgent })
    const read = () => this.#compare()
    metrics.requirements.add(read)
    try {
      while (!signal.aborted) {
        const isAnswered = await this.#ask(http, signal)
        this.#logMissing(log)
        await clock.sleep(isAnswered ? INTERVAL_MS : RETRY_DELAY_MS, signal)
      }
    } finally {
      metrics.requirements.delete(read)
      await http.close()
    }
  }

  /** @returns whether the API has answered, be it that it refuses */
  async #ask(http: Http, signal: AbortSignal): Promise<boolean> {
    try {
      const request = { method: 'GET', path: '/kinds', accept: 'application/json' } as const
      this.#learn(parseKinds(await http.exchange(request, signal, readJson)))
      return true
    } catch (error) {
      signal.throwIfAborted()
      this.#recordProblem(error)
      return error instanceof HyperFleetError && error.reason !== 'APIUnreachable'
    }
  }

  #learn(kinds: readonly KindRequirement[]): void {
    const isNew = JSON.stringify(kinds) !== JSON.stringify(this.#kinds)
    this.#kinds = kinds
    if (isNew) this.#options.onChange()
  }

  /** What was known stays known while the API is away, but not of an API of an earlier release, which says nothing of it. */
  #recordProblem(error: unknown): void {
    const before = [this.#kinds, this.#problem]
    const isUnserved = error instanceof HyperFleetError && error.status === 404
    if (isUnserved) this.#kinds = undefined
    this.#problem = isUnserved ? 'the API does not say which adapters it requires' : messageOf(error)
    const isNew = this.#kinds !== before[0] || (this.#kinds === undefined && this.#problem !== before[1])
    if (isNew) this.#options.onChange()
  }

  /** As the tasks are now. */
  #compare(): Requirements {
    return this.#kinds === undefined
      ? { adapters: [], tasks: [] }
      : compareRequired(this.#kinds, this.#comparedTasks(), this.#options.elsewhere ?? [])
  }

  #comparedTasks(): readonly ComparedTask[] {
    return this.#options.tasks().map((task) => comparedTask(task, this.#options.url))
  }

  #logMissing(log: SourceContext['log']): void {
    const missing = this.#compare().adapters.filter(({ hasTask }) => !hasTask)
    const text = missing.map(({ kind, adapter }) => `${adapter} of each ${kind}`).join(', ')
    if (text !== '' && text !== this.#logged)
      log.warn('adapter: the API requires adapters for which there is no task, resources do not become Ready', {
        required: text,
      })
    // The tasks of the same type tell of it too.
    if (text !== this.#logged) this.#options.onChange()
    this.#logged = text
  }
}
