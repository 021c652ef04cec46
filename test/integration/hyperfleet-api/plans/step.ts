import type { RunningApi } from '#services/hyperfleet-api/start.ts'
import type { Database } from '#services/hyperfleet-api/storage/database.ts'
import { type Answer, type Json, requestTo } from '../support.ts'
import { RED } from '../tenant-rules.ts'

/** What a statement grows with, on purpose. */
export interface Growth {
  /** Of what, and why that is left so. */
  readonly with: string
  /** How many there are in the test. */
  readonly rows: number
}

/** What a step asks. */
export interface World {
  readonly api: RunningApi
  /** Another handle on the same data, for what the API does by itself in longer intervals. */
  readonly database: Database | undefined
  /** @throws Error where the status is another */
  ask(method: string, path: string, status: number, body?: unknown, headers?: Record<string, string>): Promise<Json>
}

/** One thing that is asked of the API, after which what it sent to the database is looked at. */
export interface Step {
  readonly what: string
  readonly growth?: Growth | undefined
  /** Several times: a statement that comes again and again has a plan that is kept. */
  readonly times?: number
  run(world: World): Promise<unknown>
}

/** Uses until a statement has a name, its plans for given values, and one more. */
export const UNTIL_KEPT = 9

export const worldOf = (api: RunningApi, database: Database | undefined): World => {
  const call = requestTo(`${api.url}/api/hyperfleet/v1`)
  return {
    api,
    database,
    ask: async (method, path, status, body, headers) => {
      const answer: Answer = await call(method, path, body, headers)
      if (answer.status !== status)
        throw new Error(`${method} ${path} is ${answer.status} ${JSON.stringify(answer.body)}, and should be ${status}`)
      return answer.body
    },
  }
}

/** A request that changes nothing, as often as it takes until its plan is kept. */
export const reading = (path: string, growth?: Growth): Step => ({
  what: `GET ${path}`,
  growth,
  // What grows takes long, and is bounded by that with either plan.
  times: growth === undefined ? UNTIL_KEPT : 2,
  run: ({ ask }) => ask('GET', path, 200),
})

/** The same, of an API that has tenants. */
export const asTenant = (path: string, growth?: Growth): Step => ({
  ...reading(path, growth),
  what: `GET ${path} as a tenant`,
  run: ({ ask }) => ask('GET', path, 200, undefined, RED),
})
