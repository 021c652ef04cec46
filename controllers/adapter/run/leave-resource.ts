/**
 * The end of a task's work on a resource that the API does not have any more, or whose labels the task does not select: takes away
 * what it applied, and tells the API that nothing has to wait for this adapter any more. ADAPTER-66, ADAPTER-69, ADAPTER-75, ADAPTER-87.
 */
import { messageOf } from '#lib/errors/message-of.ts'
import type { JsonObject } from '../task/task.ts'
import { type Absence, isGone } from './api-reader.ts'
import { isMarkedDeleted } from './phases/mode.ts'
import { sweepInventory } from './resources/sweep.ts'
import type { RunContext } from './run-context.ts'
import type { RunState } from './run-state.ts'

export interface LeaveResult {
  /** Names of what is still there. */
  readonly remaining: readonly string[]
  /** Nothing has to be done again. */
  readonly isDone: boolean
}

/** @throws the signal's reason */
export const leaveResource = async (absence: Absence, state: RunState, context: RunContext): Promise<LeaveResult> => {
  const { inventory, retention, signal } = context
  const policy = absence === 'gone' ? retention?.whenResourceGone : retention?.whenUnselected
  if (absence !== 'gone' && absence !== 'unselected') return { remaining: [], isDone: true }
  // It may have reported although nothing says so any more, and the deletion would wait for it: ADAPTER-79.
  const isAwaited = absence === 'unselected' && isMarkedDeleted(state.resource)
  if (absence === 'gone') context.released?.delete(state.event.data.id)
  if (!inventory.isRecorded) return { remaining: [], isDone: !isAwaited || (await releaseOnce(state, context)) }
  if (policy === 'Keep') {
    inventory.keepAll()
    await saveInventory(context)
    return { remaining: [], isDone: await releaseOnce(state, context) }
  }
  // A resource that the API wants to be deleted is not one of many that are lost: ADAPTER-76.
  const isInferred = !isAwaited && inventory.entries.size > 0
  if (isInferred && (await context.brake?.mayDelete(absence)) === false) {
    state.skipReason = `${HELD[absence]}: what was applied stays until two looks at all resources have found few of them so`
    if (inventory.resumeAll()) await saveInventory(context)
    return { remaining: [], isDone: true }
  }
  state.mode = 'delete'
  const remaining = await sweepInventory(state, context)
  if (state.failed || remaining.length > 0) {
    await saveInventory(context)
    return { remaining, isDone: !state.failed }
  }
  const isReleased = absence === 'gone' || (await release(state, context))
  if (isReleased) await saveInventory(context, true)
  signal.throwIfAborted()
  return { remaining, isDone: isReleased }
}

const HELD = {
  gone: 'the resource is gone and was never said to be deleted',
  unselected: 'the labels of the resource are not those that the task selects',
} as const

/** What could not be saved is saved by the next run: the objects that it lists are looked for then. @throws the signal's reason */
export const saveInventory = async ({ inventory, signal, log }: RunContext, isFinal = false): Promise<void> => {
  try {
    await inventory.save(signal, isFinal)
  } catch (error) {
    signal.throwIfAborted()
    log.warn('adapter: the inventory could not be written, the next run of the resource writes it', {
      problem: messageOf(error),
    })
  }
}

/** Unless the API has it for this state of the resource, or has no resource. ADAPTER-82. */
const releaseOnce = async (state: RunState, context: RunContext): Promise<boolean> => {
  const { released, selection } = context
  const { id } = state.event.data
  const leftState = leftStateOf(state.resource, selection)
  if (released?.get(id) === leftState) return true
  const isReleased = state.resource === undefined || (await release(state, context))
  if (isReleased) released?.set(id, leftState)
  return isReleased
}

/** A state of a resource in which it is left once, as text. @param resource undefined when it is gone */
export const leftStateOf = (resource: JsonObject | undefined, selection: string | undefined): string =>
  JSON.stringify(resource === undefined ? 'gone' : [resource.generation, isMarkedDeleted(resource), selection])

/**
 * Lets the resource go: neither Ready nor a deletion waits for the adapter from then on, as long as its task does not select the
 * resource (API-49). To other APIs it says that nothing is left. @returns whether the API has it
 */
const release = async (state: RunState, { api, clock, selection = '', signal }: RunContext): Promise<boolean> => {
  try {
    await api.report(releaseReport(state, selection, clock.now()), signal)
    return true
  } catch (error) {
    if (isGone(error)) return true
    state.fail('post_actions', 'report', error)
    return false
  }
}

const releaseReport = ({ task, generation }: RunState, selector: string, now: Date): JsonObject => {
  const message = 'the labels of the resource are not those that the task selects'
  const condition = (type: string, status: string, reason: string) => ({ type, status, reason, message })
  return {
    adapter: task.adapter.name,
    observed_generation: generation,
    observed_time: now.toISOString(),
    conditions: [
      condition('Applied', 'False', 'NotSelected'),
      condition('Available', 'False', 'NotSelected'),
      condition('Health', 'True', 'NotSelected'),
      condition('Finalized', 'True', 'CleanupConfirmed'),
    ],
    data: { selector },
  }
}
