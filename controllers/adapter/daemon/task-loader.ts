import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import type { ApiTime } from '../http/api-time.ts'
import { taskLanguages } from '../language/task-languages.ts'
import type { StatusInput } from '../status.ts'
import type { Task } from '../task/task.ts'
import { InvalidTaskError, type TaskProblem } from '../task/task-problems.ts'
import { type ConnectionDeps, impersonatedApi } from './connect-task.ts'
import { readTask } from './task-reader.ts'

/** A task to run, and everything that decides how, as text. */
export interface LoadedTask {
  readonly task: Task
  readonly text: string
}

/** Reads the task of an AdapterTask, and says in logs and Events what is wrong with it. */
export class TaskLoader {
  /** As it could be read last. */
  lastTask: Task | undefined
  /** What is wrong with the task; undefined when it is valid. */
  invalid: StatusInput['invalid']
  /** Of the AdapterTask that was read last. */
  generation: number | undefined
  readonly #deps: ConnectionDeps
  readonly #context: DaemonContext<AdapterTask>
  readonly #time: ApiTime
  /** What was said last of expressions that can't have a value. */
  #hints = ''

  /** @param time of the HyperFleet API */
  constructor(deps: ConnectionDeps, context: DaemonContext<AdapterTask>, time: ApiTime) {
    this.#deps = deps
    this.#context = context
    this.#time = time
  }

  /** What to run; undefined when there is nothing to run. @throws what the API server failed with */
  async load(): Promise<LoadedTask | undefined> {
    const { spec, object } = this.#context
    const { generation } = object.metadata
    try {
      const { task, text, problem, hints } = await readTask(spec, {
        api: impersonatedApi(this.#context, this.#deps),
        namespace: this.#context.namespace ?? 'default',
        access: this.#deps.access,
        languages: taskLanguages(() => this.#time.clock.now()),
        signal: this.#context.signal,
      })
      this.generation = generation
      this.#recordValidity(problem, 'deletions')
      this.#recordHints(hints)
      this.lastTask = task
      return spec.suspend === true ? undefined : { task, text: JSON.stringify(spec) + text }
    } catch (error) {
      const isInvalid = error instanceof InvalidTaskError
      // Nothing of a suspended task is run, whatever is in it.
      if (!isInvalid && spec.suspend !== true) throw error
      this.generation = generation
      if (isInvalid) this.#recordValidity(error, 'everything')
      return undefined
    }
  }

  /** @param blocks what is not done until the task is corrected */
  #recordValidity(problem: InvalidTaskError | undefined, blocks: 'everything' | 'deletions'): void {
    const { log, events } = this.#context
    if (problem !== undefined && this.invalid?.message !== problem.message) {
      log.warn('adapter: the task is invalid, waiting for a change of it', { problem: problem.message })
      events.warning('InvalidTask', problem.message.slice(0, 1_000))
    }
    this.invalid = problem && { message: problem.message, blocks }
  }

  /** Once for each change: the task is read again and again. ADAPTER-83. */
  #recordHints(hints: readonly TaskProblem[]): void {
    const { log, events } = this.#context
    const message = hints.map((hint) => `${hint.path}: ${hint.message}`).join('; ')
    if (message !== '' && message !== this.#hints) {
      log.warn('adapter: expressions of the task can never have a value, it runs all the same', { problem: message })
      events.warning('NeverAValue', message.slice(0, 1_000))
    }
    this.#hints = message
  }
}
