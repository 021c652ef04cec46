import { toMilliseconds } from '../model/duration.ts'
import type { Filters } from '../model/filters.ts'
import type { CallResult, Outcome } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import type { Context, MayWait, Patch } from './context.ts'
import type { Environment } from './environment.ts'
import type { HandlerScope } from './object-scope.ts'
import type { ObjectState } from './object-state.ts'

export interface ContextParts<O extends KubeObject> {
  readonly id: string
  readonly patch: Patch<O>
  readonly handlerScope: Pick<HandlerScope, 'signal'>
  readonly failures: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  object(): O
}

/** The context of a handler. What costs something is made on first use. */
export const buildContext = <O extends KubeObject>(
  env: Environment<O>,
  state: ObjectState<O>,
  parts: ContextParts<O>,
): Context<O> => new HandlerContext(env, state, parts)

/** Of a class: nine getters of an object of its own would be 2 KB for each call. */
class HandlerContext<O extends KubeObject> implements Context<O> {
  readonly #env: Environment<O>
  readonly #state: ObjectState<O>
  readonly #parts: ContextParts<O>
  readonly name: string
  readonly namespace: string | undefined
  readonly patch: Patch<O>
  readonly api: Context<O>['api']
  readonly clock: Context<O>['clock']

  constructor(env: Environment<O>, state: ObjectState<O>, parts: ContextParts<O>) {
    this.#env = env
    this.#state = state
    this.#parts = parts
    this.name = state.object.metadata.name
    this.namespace = state.object.metadata.namespace
    this.patch = parts.patch
    this.api = env.api
    this.clock = env.clock
  }

  get object(): O {
    return this.#parts.object()
  }

  get spec(): O['spec'] {
    return this.object.spec
  }

  get status(): O['status'] {
    return this.object.status
  }

  get signal(): AbortSignal {
    return this.#parts.handlerScope.signal
  }

  get log(): Context<O>['log'] {
    return this.#env.log.child({ object: this.#state.key, handler: this.#parts.id })
  }

  get events(): Context<O>['events'] {
    return this.#env.events(this.object)
  }

  get retry(): Context<O>['retry'] {
    return { count: this.#parts.failures, startedAt: new Date(this.#parts.startedAt) }
  }

  get memo(): Map<string, unknown> {
    this.#state.memo ??= new Map()
    return this.#state.memo
  }
}

interface Call<O extends KubeObject> extends Omit<ContextParts<O>, 'handlerScope' | 'object'> {
  readonly filters: Filters<O>
  readonly object: O
  run(context: Context<O>): MayWait | Promise<MayWait>
}

/** Calls a handler once. 'interrupted': it threw after its signal had aborted, which says nothing about the object. */
export const call = async <O extends KubeObject>(
  env: Environment<O>,
  state: ObjectState<O>,
  { run, filters, object, ...parts }: Call<O>,
): Promise<CallResult | 'interrupted'> => {
  const handlerScope = state.scope.enter(filters)
  try {
    const result = await run(buildContext(env, state, { ...parts, handlerScope, object: () => object }))
    return { requeueAfter: result?.requeueAfter === undefined ? undefined : toMilliseconds(result.requeueAfter) }
  } catch (error) {
    return handlerScope.ended ? 'interrupted' : { error }
  } finally {
    handlerScope.leave()
  }
}

/** Logs the outcome of a call, notes a failure for the metrics, and writes an Event for one that is not retried. RUNTIME-5. */
export const report = <O extends KubeObject>(
  env: Environment<O>,
  state: ObjectState<O>,
  id: string,
  outcome: Outcome,
): void => {
  if (outcome.kind === 'temporary' || outcome.kind === 'permanent') state.handlerFailed = true
  const about = { object: state.key, handler: id }
  switch (outcome.kind) {
    case 'success':
      env.log.debug('handler succeeded', about)
      return
    case 'requeue':
      env.log.debug('handler waits', { ...about, delay: outcome.delay })
      return
    case 'ignored':
      env.log.warn(`handler failed, the error is ignored: ${outcome.error.message}`, { ...about, err: outcome.error })
      return
    case 'temporary': {
      const { error, delay } = outcome
      env.log.warn(`handler failed, retrying: ${error.message}`, { ...about, err: error, delay })
      return
    }
    case 'permanent':
      env.log.error(`handler failed, not retried: ${outcome.error.message}`, {
        ...about,
        err: outcome.error,
        reason: outcome.reason,
      })
      env.events(state.object).warning(outcome.reason, `${id}: ${outcome.error.message}`)
  }
}
