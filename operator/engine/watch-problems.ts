import type { WatchFailure } from '../client/watch.ts'
import type { Logger } from '../model/log.ts'
import { apiVersionOf, type Resource } from '../model/resource.ts'

/** Why objects of a kind can't be read at the moment. The operator keeps trying and is not ready meanwhile. RUNTIME-37. */
export interface WatchProblem {
  readonly resource: Resource
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined
  /** NotInstalled: the API server doesn't know the kind. Forbidden: RBAC refuses. Unreachable: anything else. */
  readonly reason: 'NotInstalled' | 'Forbidden' | 'Unreachable'
  readonly message: string
}

export type ProblemListener = (problem: WatchProblem | undefined) => void

/** What is watched. */
export type WatchedPlace = Pick<WatchProblem, 'resource' | 'namespace'>

export interface WatchProblemsOptions {
  readonly log: Logger
  /** What to do about a problem, for the log line. */
  remedy(problem: WatchProblem): string | undefined
}

/** The problems of an operator's watches, told to the log and to listeners. */
export class WatchProblems {
  readonly #options: WatchProblemsOptions
  readonly #problems = new Map<WatchedPlace, WatchProblem>()
  readonly #listeners = new Map<WatchedPlace, Set<ProblemListener>>()

  constructor(options: WatchProblemsOptions) {
    this.#options = options
  }

  get all(): readonly WatchProblem[] {
    return [...this.#problems.values()]
  }

  /** @param listener told at once when there is a problem, then of each change: undefined when it is over @returns ends that */
  subscribe(place: WatchedPlace, listener: ProblemListener): () => void {
    const problem = this.#problems.get(place)
    if (problem !== undefined) listener(problem)
    const listeners = this.#listeners.get(place) ?? new Set()
    this.#listeners.set(place, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** One line when a problem comes or turns into another, one when it is over: not one each try. */
  report(place: WatchedPlace, failure: WatchFailure | undefined): void {
    const { log } = this.#options
    const before = this.#problems.get(place)
    const problem = failure && problemOf(place, failure)
    const kind = kindOf(place)
    if (problem === undefined) {
      if (before === undefined) return
      this.#problems.delete(place)
      log.info(`${kind} can be watched again`)
      this.#tell(place, undefined)
      return
    }
    this.#problems.set(place, problem)
    this.#tell(place, problem)
    if (before?.reason === problem.reason && before.message === problem.message) return
    const remedy = this.#options.remedy(problem)
    log.warn(remedy === undefined ? `${kind}: ${problem.message}` : `${kind}: ${problem.message}: ${remedy}`, {
      reason: problem.reason,
    })
  }

  #tell(place: WatchedPlace, problem: WatchProblem | undefined): void {
    for (const listener of this.#listeners.get(place) ?? []) listener(problem)
  }
}

/** For logs: `widgets.example.com`. */
export const kindOf = ({ resource }: WatchedPlace): string => `${resource.plural}.${resource.group || 'core'}`

/** Undefined for what is put right at once by itself: an orderly end, an expired history, a server without WatchList. */
const problemOf = ({ resource, namespace }: WatchedPlace, failure: WatchFailure): WatchProblem | undefined => {
  const place = { resource, namespace }
  if (failure.cause === 'slow') return { ...place, reason: 'Unreachable', message: failure.message }
  if (failure.cause !== 'refused' && failure.cause !== 'broken') return undefined
  const { error } = failure
  const message = error instanceof Error ? error.message : String(error)
  const status = failure.cause === 'refused' ? failure.error.status : 0
  if (status === 404)
    return {
      ...place,
      reason: 'NotInstalled',
      message: `the API server does not know ${resource.kind} (${apiVersionOf(resource)})`,
    }
  return { ...place, reason: status === 403 || status === 401 ? 'Forbidden' : 'Unreachable', message }
}
