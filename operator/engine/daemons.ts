import { matches } from '../model/filters.ts'
import { type CallResult, decideOutcome } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import { buildContext, report } from './call-handler.ts'
import type { DaemonContext } from './context.ts'
import type { DaemonHandler } from './definition.ts'
import type { Environment } from './environment.ts'
import { LeasedApi } from './leased-api.ts'
import type { HandlerScope } from './object-scope.ts'
import type { ObjectState } from './object-state.ts'
import { createPatch } from './patch.ts'

export interface LeaseName {
  readonly name: string
  readonly namespace: string
}

/** What daemons need beyond what other handlers do. */
export interface DaemonEnvironment<O extends KubeObject> extends Environment<O> {
  /** Does the work whenever, and only while, this process holds the lease. Resolves when the work has ended by itself, or the signal has aborted. */
  runWithLease(lease: LeaseName, signal: AbortSignal, work: (held: AbortSignal) => Promise<void>): Promise<void>
  /** Looks at the object again. */
  wake(state: ObjectState<O>): void
  /** Keeps a daemon in mind until it has ended. */
  track(daemon: Promise<void>): void
}

/** Starts the daemons that an object should have and has not. The scope of the object ends those it should no longer have. RUNTIME-29. */
export const startDaemons = <O extends KubeObject>(env: DaemonEnvironment<O>, state: ObjectState<O>): void => {
  for (const daemon of env.definition.daemons) {
    if (!matches(daemon.filters, state.object)) {
      state.finishedDaemons?.delete(daemon.id)
      continue
    }
    if (state.daemons?.has(daemon.id) || state.finishedDaemons?.has(daemon.id)) continue
    state.daemons ??= new Set()
    state.daemons.add(daemon.id)
    env.track(runDaemon(env, state, daemon))
  }
}

/** A daemon from its start to its end, over as many calls as its errors ask for. */
const runDaemon = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  state: ObjectState<O>,
  daemon: DaemonHandler<O>,
): Promise<void> => {
  const handlerScope = state.scope.enter(daemon.filters)
  const limits = env.limits(daemon.policy)
  const startedAt = env.clock.now().getTime()
  let failures = 0

  while (!handlerScope.ended) {
    const result = await callDaemon(env, state, daemon, { handlerScope, failures, startedAt })
    if (handlerScope.ended) break
    const outcome = decideOutcome(result, { failures, startedAt }, limits, {
      now: env.clock.now().getTime(),
      random: env.random(),
    })
    report(env, state, daemon.id, outcome)
    if (outcome.kind !== 'temporary') {
      state.finishedDaemons ??= new Set()
      state.finishedDaemons.add(daemon.id)
      break
    }
    failures += 1
    await env.clock.sleep(outcome.delay, handlerScope.signal)
  }

  handlerScope.leave()
  state.daemons?.delete(daemon.id)
  // Filtered out and in again while it ended: without this it would not be started again.
  if (handlerScope.ended) env.wake(state)
}

interface DaemonCall {
  readonly handlerScope: HandlerScope
  readonly failures: number
  readonly startedAt: number
}

/** One call, under the lease if there is one. What it recorded and did not send is sent when it returns. */
const callDaemon = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  state: ObjectState<O>,
  daemon: DaemonHandler<O>,
  { handlerScope, failures, startedAt }: DaemonCall,
): Promise<CallResult> => {
  const work = async (signal: AbortSignal, api = env.api) => {
    let patch = createPatch<O>()
    const recorder: DaemonContext<O>['patch'] = {
      merge: (part) => patch.merge(part),
      status: (part) => patch.status(part),
      edit: (edit) => patch.edit(edit),
    }
    const send = async () => {
      const recorded = patch
      patch = createPatch()
      await env.write(state, state.object, recorded, api)
    }
    const object = () => state.object
    const context = buildContext(env, state, {
      id: daemon.id,
      patch: recorder,
      handlerScope: { signal },
      failures,
      startedAt,
      object,
    })
    await daemon.run(Object.assign(context, { send, api }))
    await send()
  }
  try {
    const lease = daemon.lease(state.object)
    if (lease === undefined) await work(handlerScope.signal)
    else
      await env.runWithLease(lease, handlerScope.signal, async (held) => {
        using leased = new LeasedApi(env.api, held)
        await work(held, leased.api)
      })
    return { requeueAfter: undefined }
  } catch (error) {
    return { error }
  }
}
