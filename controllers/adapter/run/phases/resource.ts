/** Before the first phase: reads the HyperFleet resource, and decides whether the run is any business of the task. ADAPTER-12, ADAPTER-68. */

import type { EventData } from '../../events/reconcile-event.ts'
import { apiPath } from '../../http/api-path.ts'
import type { JsonObject } from '../../task/task.ts'
import { NothingToDoError } from '../api-reader.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { isMarkedDeleted } from './mode.ts'

/** Reads it into the run's state. @throws NothingToDoError, or the signal's reason */
export const readResource = async (
  state: RunState,
  context: RunContext,
  isSelected: (resource: JsonObject) => boolean,
): Promise<void> => {
  const elsewhere = findOtherId(state.event.data)
  if (elsewhere !== undefined) return refuse(state, elsewhere)
  let resource: JsonObject | undefined
  try {
    resource = await context.api.resource(context.signal)
  } catch (error) {
    if (error instanceof NothingToDoError) throw trusted(error, state, context)
    return state.fail('params', 'resource', error)
  }
  if (resource === undefined) return
  const difference = findDifference(resource, state.event.data)
  if (difference !== undefined) return refuse(state, difference)
  state.resource = resource
  const selected = isSelected(resource)
  context.brake?.observe({ isDeleting: isMarkedDeleted(resource), isSelected: selected })
  if (!selected)
    throw new NothingToDoError('the labels of the resource are not those that the task selects', 'unselected')
}

/** @throws NothingToDoError */
const refuse = (state: RunState, difference: string): never => {
  const message = `the event is about something else than what it leads to: ${difference}`
  state.fail('params', 'resource', new TaskError('EventMismatch', message))
  throw new NothingToDoError(message, 'mismatch')
}

/** An event that leads to a place of another id. Nothing is asked there: "not found" would be said of the wrong resource. */
const findOtherId = ({ id, href }: EventData): string | undefined => {
  if (typeof href !== 'string') return undefined
  const last = apiPath(href).replace(/\/+$/, '').split('/').at(-1)
  return last === encodeURIComponent(id) || last === id
    ? undefined
    : `id is ${JSON.stringify(id)}, and href is ${JSON.stringify(href)}`
}

/** That a resource is gone is believed of the place where it was when its first object was written down, and of no other. */
const trusted = (error: NothingToDoError, { event }: RunState, { recordedHref }: RunContext): NothingToDoError => {
  const { href } = event.data
  const isOther = recordedHref !== undefined && typeof href === 'string' && apiPath(href) !== apiPath(recordedHref)
  return error.absence === 'gone' && isOther
    ? new NothingToDoError(`${error.message}; it was at ${recordedHref} before`, 'absent', { cause: error })
    : error
}

/** What an event says of a resource and the API does not. What one of them does not say is no difference. */
const findDifference = (resource: JsonObject, event: JsonObject): string | undefined => {
  const differs = (field: string, normalize: (text: string) => string) => {
    const [at, said] = [resource[field], event[field]]
    if (typeof at !== 'string' || typeof said !== 'string' || normalize(at) === normalize(said)) return undefined
    return `${field} is ${JSON.stringify(at)}, and the event says ${JSON.stringify(said)}`
  }
  return (
    differs('id', (id) => id) ??
    differs('kind', (kind) => kind.toLowerCase()) ??
    differs('href', (href) => apiPath(href))
  )
}
