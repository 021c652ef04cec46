/** What the HyperFleet API refuses to a task because of its identity or its type of resources, so that the task's status says so: ADAPTER-106. */
import { NoTokenError } from '../http/bearer-token.ts'
import type { RequestOutcome } from '../http/client.ts'

/** What a task can't do without. */
type Duty = 'events' | 'reports'

export class ApiRefusals {
  readonly #problems = new Map<Duty, string>()
  readonly #onChange: () => void

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** Why the task can't work; undefined when nothing is refused. */
  get problem(): string | undefined {
    const [first] = this.#problems.values()
    return first
  }

  /** What was refused is so until the same is taken: no answer, or an overloaded API, says nothing about it. */
  record({ request, status, problem, error }: RequestOutcome): void {
    const duty = dutyOf(request)
    if (duty === undefined) return
    const before = this.problem
    // 400 to its events is a type that the API does not serve; to a report it is about one run, which says so.
    const isRefused = status === 401 || status === 403 || (status === 400 && duty === 'events')
    if (isRefused || error instanceof NoTokenError) this.#problems.set(duty, problem)
    else if (status !== undefined && status < 500 && status !== 429) this.#problems.delete(duty)
    if (this.problem !== before) this.#onChange()
  }
}

const dutyOf = ({ method, url }: RequestOutcome['request']): Duty | undefined => {
  const [path = ''] = url.split('?')
  if (/\/events\/consumers\/[^/]+/.test(path)) return 'events'
  return method !== 'GET' && /\/statuses\/?$/.test(path) ? 'reports' : undefined
}
