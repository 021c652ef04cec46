import { matches } from '../model/filters.ts'
import { decideOutcome, type Ended } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import { contextOf, report } from './call.ts'
import type { DaemonContext } from './context.ts'
import type { DaemonHandler } from './definition.ts'
import type { Environment } from './environment.ts'
import type { Stay } from './life.ts'
import { createPatch } from './patch.ts'
import type { Tended } from './tended.ts'

export interface LeaseName {
  readonly name: string
  readonly namespace: string
}

/** What daemons need beyond what other handlers do. */
export interface DaemonEnvironment<O extends KubeObject> extends Environment<O> {
  /** Does the work whenever, and only while, this process holds the lease. Resolves when the work has ended by itself, or the signal has aborted. */
  hold(lease: LeaseName, signal: AbortSignal, work: (held: AbortSignal) => Promise<void>): Promise<void>
  /** Looks at the object again. */
  wake(tended: Tended<O>): void
  /** Keeps a daemon in mind until it has ended. */
  track(daemon: Promise<void>): void
}

/** Starts the daemons that an object should have and has not. The object's life ends those it should no longer have. */
export const startDaemons = <O extends KubeObject>(env: DaemonEnvironment<O>, tended: Tended<O>): void => {
  for (const daemon of env.definition.daemons) {
    if (!matches(daemon.filters, tended.object)) {
      tended.finishedDaemons?.delete(daemon.id)
      continue
    }
    if (tended.daemons?.has(daemon.id) || tended.finishedDaemons?.has(daemon.id)) continue
    tended.daemons ??= new Set()
    tended.daemons.add(daemon.id)
    env.track(live(env, tended, daemon))
  }
}

/** A daemon from its start to its end, over as many calls as its errors ask for. */
const live = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  tended: Tended<O>,
  daemon: DaemonHandler<O>,
): Promise<void> => {
  const stay = tended.life.enter(daemon.filters)
  const limits = env.limits(daemon.policy)
  const startedAt = env.clock.now().getTime()
  let failures = 0

  while (!stay.ended) {
    const ended = await run(env, tended, daemon, { stay, failures, startedAt })
    if (stay.ended) break
    const outcome = decideOutcome(ended, { failures, startedAt }, limits, {
      now: env.clock.now().getTime(),
      random: env.random(),
    })
    report(env, tended, daemon.id, outcome)
    if (outcome.kind !== 'temporary') {
      tended.finishedDaemons ??= new Set()
      tended.finishedDaemons.add(daemon.id)
      break
    }
    failures += 1
    await env.clock.sleep(outcome.delay, stay.signal)
  }

  stay.leave()
  tended.daemons?.delete(daemon.id)
  // Filtered out and in again while it wound down: nobody else would start it.
  if (stay.ended) env.wake(tended)
}

interface Running {
  readonly stay: Stay
  readonly failures: number
  readonly startedAt: number
}

/** One call, under the lease if there is one. What it recorded and did not send is sent when it returns. */
const run = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  tended: Tended<O>,
  daemon: DaemonHandler<O>,
  { stay, failures, startedAt }: Running,
): Promise<Ended> => {
  const work = async (signal: AbortSignal) => {
    let patch = createPatch<O>()
    const recorder: DaemonContext<O>['patch'] = {
      merge: (part) => patch.merge(part),
      status: (part) => patch.status(part),
      transform: (edit) => patch.transform(edit),
    }
    const send = async () => {
      const recorded = patch
      patch = createPatch()
      await env.write(tended, tended.object, recorded)
    }
    const object = () => tended.object
    const context = contextOf(env, tended, {
      id: daemon.id,
      patch: recorder,
      stay: { signal },
      failures,
      startedAt,
      object,
    })
    await daemon.run(Object.assign(context, { send }))
    await send()
  }
  try {
    const lease = daemon.lease(tended.object)
    if (lease === undefined) await work(stay.signal)
    else await env.hold(lease, stay.signal, work)
    return { requeueAfter: undefined }
  } catch (error) {
    return { error }
  }
}
