import type { Filters } from '../model/filters.ts'
import type { KubeObject } from '../model/resource.ts'

/** Why a handler's signal aborted. */
export class EndedError extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'EndedError'
  }
}

/** One handler's stay in a life; its signal is made when it is asked for, most handlers never do. */
export interface Stay {
  readonly signal: AbortSignal
  readonly ended: boolean
  leave(): void
}

/**
 * The time during which an object is looked after: it ends when the object begins to be deleted, is gone, or the run
 * ends. Deletion is a life of its own. Whoever stays in it is told by a signal.
 */
export interface Life<O extends KubeObject> {
  enter(filters: Filters<O>): Stay
  /** The object changed: ends the stay of those who are no longer for it. */
  changed(object: O, isFor: (filters: Filters<O>, object: O) => boolean): void
  end(reason: string): void
}

export const beginLife = <O extends KubeObject>(): Life<O> => {
  const stays = new Set<{ readonly filters: Filters<O>; end(reason: EndedError): void }>()
  let over: EndedError | undefined

  return {
    enter(filters) {
      let controller: AbortController | undefined
      let reason = over
      const stay = {
        filters,
        end(why: EndedError) {
          reason ??= why
          controller?.abort(reason)
        },
      }
      stays.add(stay)
      return {
        get signal() {
          controller ??= new AbortController()
          if (reason !== undefined) controller.abort(reason)
          return controller.signal
        },
        get ended() {
          return reason !== undefined
        },
        leave: () => {
          stays.delete(stay)
        },
      }
    },
    changed(object, isFor) {
      for (const stay of stays) if (!isFor(stay.filters, object)) stay.end(new EndedError('filtered out'))
    },
    end(reason) {
      over ??= new EndedError(reason)
      for (const stay of stays) stay.end(over)
    },
  }
}
