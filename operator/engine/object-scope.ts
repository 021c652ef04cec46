import type { Filters } from '../model/filters.ts'
import type { KubeObject } from '../model/resource.ts'

/** Why a handler's signal aborted. */
export class ScopeEndedError extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'ScopeEndedError'
  }
}

/** The object is gone, or will be: deletion is never taken back. */
export class ObjectDeletedError extends ScopeEndedError {
  constructor(reason: string) {
    super(reason)
    this.name = 'ObjectDeletedError'
  }
}

/** One handler's handlerScope in a life; its signal is made when it is asked for, most handlers never do. */
export interface HandlerScope {
  readonly signal: AbortSignal
  readonly ended: boolean
  leave(): void
}

interface Resident<O extends KubeObject> {
  readonly filters: Filters<O>
  end(reason: ScopeEndedError): void
}

/**
 * The time during which an object is looked after: it ends when the object begins to be deleted, is gone, or the run
 * ends. Deletion is a life of its own. Whoever stays in it is told by a signal. There is one for each object, so it is
 * small while nobody stays in it.
 */
export class ObjectScope<O extends KubeObject> {
  #residents: Set<Resident<O>> | undefined
  #over: ScopeEndedError | undefined

  enter(filters: Filters<O>): HandlerScope {
    this.#residents ??= new Set()
    const residents = this.#residents
    let controller: AbortController | undefined
    let reason = this.#over
    const resident: Resident<O> = {
      filters,
      end(why) {
        reason ??= why
        controller?.abort(reason)
      },
    }
    residents.add(resident)
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
        residents.delete(resident)
        if (residents.size === 0 && this.#residents === residents) this.#residents = undefined
      },
    }
  }

  /** The object changed: ends the handlerScope of those who are no longer for it. */
  changed(object: O, isFor: (filters: Filters<O>, object: O) => boolean): void {
    for (const resident of this.#residents ?? []) {
      if (!isFor(resident.filters, object)) resident.end(new ScopeEndedError('filtered out'))
    }
  }

  end(reason: ScopeEndedError): void {
    this.#over ??= reason
    for (const resident of this.#residents ?? []) resident.end(this.#over)
  }
}
