import { errorOf } from '#lib/errors/error-of.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import type { Filters } from '../model/filters.ts'
import type { KubeObject } from '../model/resource.ts'

/** Why a handler's signal aborted. */
export class ScopeEndedError extends errorOf(OPERATOR_ERRORS, 'ScopeEndedError') {}

/** The object is gone, or will be: deletion is never taken back. */
export class ObjectDeletedError extends ScopeEndedError {
  constructor(reason: string) {
    super(reason)
    this.name = 'ObjectDeletedError'
  }
}

/** One call of a handler, or one daemon, within the scope of its object. Its signal is made on first use: most handlers use none. */
export interface HandlerScope {
  readonly signal: AbortSignal
  readonly ended: boolean
  leave(): void
}

interface RunningHandler<O extends KubeObject> {
  readonly filters: Filters<O>
  end(reason: ScopeEndedError): void
}

/**
 * From the time when an object is there until its deletion begins, it is gone, or the run ends. A deletion has a scope of
 * its own. Handlers in it learn of its end by their signal. There is one for each object, so it is small while no handler runs.
 */
export class ObjectScope<O extends KubeObject> {
  #handlers: Set<RunningHandler<O>> | undefined
  #endReason: ScopeEndedError | undefined

  enter(filters: Filters<O>): HandlerScope {
    this.#handlers ??= new Set()
    const handlers = this.#handlers
    let controller: AbortController | undefined
    let reason = this.#endReason
    const handler: RunningHandler<O> = {
      filters,
      end(endReason) {
        reason ??= endReason
        controller?.abort(reason)
      },
    }
    handlers.add(handler)
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
        handlers.delete(handler)
        if (handlers.size === 0 && this.#handlers === handlers) this.#handlers = undefined
      },
    }
  }

  /** The object changed: ends the handlers whose filters no longer match it. */
  changed(object: O, isFor: (filters: Filters<O>, object: O) => boolean): void {
    for (const handler of this.#handlers ?? []) {
      if (!isFor(handler.filters, object)) handler.end(new ScopeEndedError('filtered out'))
    }
  }

  end(reason: ScopeEndedError): void {
    this.#endReason ??= reason
    for (const handler of this.#handlers ?? []) handler.end(this.#endReason)
  }
}
