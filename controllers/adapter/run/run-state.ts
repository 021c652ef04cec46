/** The state of a run. Each phase adds to it; expressions and templates see it as their variables. */

import type {
  Mode,
  Phase,
  TracedAction,
  TracedFailure,
  TracedParam,
  TracedPayload,
  TracedPrecondition,
  TracedResource,
} from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import type { Json, JsonObject, Scope, Task } from '../task/task.ts'
import type { Redactor } from './redactor.ts'
import type { LeftObject } from './resources/left-objects.ts'
import { BUDGET, RunBudget } from './run-budget.ts'
import { TaskError } from './task-error.ts'

export interface RunStateOptions {
  readonly task: Task
  readonly event: ReconcileEvent
  /** `config` of expressions: how the adapter is set up, without secrets. */
  readonly config: JsonObject
  /** `env` of expressions: the variables that tasks may read. */
  readonly environment: Readonly<Record<string, string>>
  /** Knows the secrets of the run; a run adds those that it reads. */
  readonly redactor: Redactor
}

export class RunState {
  readonly task: Task
  readonly event: ReconcileEvent
  readonly environment: Readonly<Record<string, string>>
  readonly redactor: Redactor
  readonly #config: JsonObject
  /** The HyperFleet resource; undefined when the event does not say where it is. */
  resource: JsonObject | undefined
  mode: Mode | undefined
  /** Why nothing was applied or deleted. */
  skipReason: string | undefined
  /** Nothing is left to delete: this is what the record waits to hear. */
  isDeleted = false
  /** What a deletion found and left, object by object; undefined when none has looked. */
  left: readonly LeftObject[] | undefined
  /** Params, captures, answers of preconditions, and payloads as text. */
  readonly values: Record<string, Json> = {}
  /** What was found of each resource; what is not there has no entry. */
  readonly resources: Record<string, Json> = {}
  readonly budget = new RunBudget()
  readonly failures: TracedFailure[] = []
  readonly params: TracedParam[] = []
  readonly preconditions: TracedPrecondition[] = []
  readonly steps: TracedResource[] = []
  readonly payloads: TracedPayload[] = []
  readonly actions: TracedAction[] = []

  constructor({ task, event, config, environment, redactor }: RunStateOptions) {
    this.redactor = redactor
    this.task = task
    this.event = event
    this.environment = environment
    this.#config = config
  }

  get failed(): boolean {
    return this.failures.length > 0
  }

  /** The generation that the run is about; 0 when neither the resource nor the event says it. */
  get generation(): number {
    const generation = this.resource?.generation ?? this.event.data.generation
    return typeof generation === 'number' ? generation : 0
  }

  /** The variables of expressions and templates. */
  get scope(): Scope {
    return {
      [BUDGET]: this.budget,
      ...this.values,
      params: this.values,
      // An event that a change of an applied object stands for knows no generation: the resource does.
      event: { generation: this.generation, ...this.event.data },
      resource: this.resource ?? null,
      resources: this.resources,
      config: this.#config,
      env: this.environment,
      adapter: this.#adapter(),
    }
  }

  /** @throws what is no failure of the task, such as the signal's reason */
  fail(phase: Phase, step: string, error: unknown): void {
    if (!(error instanceof TaskError)) throw error
    this.failures.push({ phase, step, reason: error.reason, message: this.redactor.redactText(error.message) })
  }

  /** What can't be done is a failure of the run. @returns whether it was done @throws what is no failure of the task */
  async attempt(phase: Phase, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      this.fail(phase, '', error)
      return false
    }
  }

  /** The names are the Go adapter's. ADAPTER-16. */
  #adapter(): JsonObject {
    const [first] = this.failures
    const errors = this.failures
      .filter(({ phase }) => phase === 'resources')
      .map(({ step, message }) => [step, message])
    return {
      ...this.task.adapter,
      executionStatus: this.failed ? 'failed' : 'success',
      resourcesSkipped: this.skipReason !== undefined,
      skipReason: this.skipReason ?? '',
      errorReason: first?.reason ?? '',
      errorMessage: first?.message ?? '',
      executionError: first === undefined ? null : { phase: first.phase, step: first.step, message: first.message },
      resourceErrors: Object.fromEntries(errors) as JsonObject,
    }
  }
}
