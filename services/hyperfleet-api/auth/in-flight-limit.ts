import { once } from '#lib/once.ts'

/** How many requests are under way, and how they are shared among callers. */
export interface InFlightSettings {
  /** At once, of all callers. */
  readonly total: number
  /** At once, of one caller. */
  readonly perCaller: number
}

export interface InFlightLimit {
  /** @returns how to give the place back, or undefined when the caller has as many as it may */
  enter(caller: string): (() => void) | undefined
}

/**
 * Once all places are taken, a caller may have no more than an equal share of them: callers that have less still get in, so the
 * total is exceeded by one a caller at most (API-83).
 */
export const createInFlightLimit = ({ total, perCaller }: InFlightSettings): InFlightLimit => {
  const underWay = new Map<string, number>()
  let sum = 0
  return {
    enter: (caller) => {
      const own = underWay.get(caller) ?? 0
      const callers = underWay.size + (own === 0 ? 1 : 0)
      const share = sum < total ? perCaller : Math.max(1, Math.floor(total / callers))
      if (own >= Math.min(perCaller, share)) return undefined
      underWay.set(caller, own + 1)
      sum += 1
      return once(() => {
        sum -= 1
        const left = (underWay.get(caller) ?? 1) - 1
        if (left > 0) underWay.set(caller, left)
        else underWay.delete(caller)
      })
    },
  }
}
