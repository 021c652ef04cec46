import { type Diff, diffAt } from '#lib/json/diff.ts'
import type { Cause } from '../model/cause.ts'
import { matches } from '../model/filters.ts'
import type { KubeObject } from '../model/resource.ts'
import type { ChangeHandler } from './definition.ts'

/** The handlers that a cause concerns, in the order of their declaration. Optional delete handlers are called apart. */
export const selectHandlers = <O extends KubeObject>(
  handlers: readonly ChangeHandler<O>[],
  cause: Cause<O>,
  object: O,
  initial: boolean,
): readonly ChangeHandler<O>[] =>
  handlers.filter((handler) => concerns(handler, cause, initial) && matches(handler.filters, object))

const concerns = (
  handler: Pick<ChangeHandler, 'on' | 'field' | 'optional'>,
  { type, diff }: Cause,
  initial: boolean,
): boolean => {
  switch (handler.on) {
    case 'create':
      return type === 'create'
    case 'delete':
      return type === 'delete' && !handler.optional
    case 'update':
      return type === 'update'
    case 'resume':
      // Something also changed while no process looked: the handler must still learn that it is in charge again.
      return type === 'resume' || (type === 'update' && initial)
    case 'field':
      return (type === 'create' || type === 'update') && diffAt(diff, handler.field).length > 0
  }
}

/** What a handler sees of a diff: all of it, or what touches its field. */
export const diffFor = ({ on, field }: Pick<ChangeHandler, 'on' | 'field'>, changes: Diff): Diff =>
  on === 'field' ? diffAt(changes, field) : changes

/** Whether an object must wait for us when it is deleted. */
export const needsFinalizer = <O extends KubeObject>(handlers: readonly ChangeHandler<O>[], object: O): boolean =>
  handlers.some((handler) => handler.on === 'delete' && !handler.optional && matches(handler.filters, object))
