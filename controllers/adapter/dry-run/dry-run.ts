/**
 * Runs a task with no cluster and no API: the same phases, over what the files say. Nothing leaves the process.
 * Waiting takes no time, and no value comes from the environment but the variables that the task names.
 */

import type { Trace, TracedRequest } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Clock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { hrefOf, type ReconcileEvent } from '../events/reconcile-event.ts'
import { HttpClient } from '../http/client.ts'
import type { HttpRequest } from '../http/connection.ts'
import { memoryStorage } from '../inventory/memory-storage.ts'
import { ResourceInventory } from '../inventory/resource-inventory.ts'
import { ApiReader } from '../run/api-reader.ts'
import { Redactor } from '../run/redactor.ts'
import { ReportDedup } from '../run/report-dedup.ts'
import { run } from '../run/run.ts'
import type { Json, JsonObject, Task } from '../task/task.ts'
import { memoryTransport, type Operation } from '../transports/memory.ts'
import { cannedResponses, type ResponseRule } from './canned-responses.ts'

export interface DryRunOptions {
  readonly task: Task
  readonly event: ReconcileEvent
  readonly responses: readonly ResponseRule[]
  /** By rendered name: what is there already, or found in the place of what is applied. */
  readonly discovery: Readonly<Record<string, JsonObject>>
  readonly environment: Readonly<Record<string, string>>
  /** Values of it that must not be shown. */
  readonly secrets?: readonly string[]
  readFile(path: string): Promise<string>
  /** Goes on by itself; see `instantClock`. */
  readonly clock: Clock
}

/** The trace of a run, and what it would have sent and done. */
export interface DryRun extends Trace {
  readonly apiRequests: readonly { readonly method: string; readonly url: string; readonly body?: Json }[]
  readonly transportOperations: readonly Operation[]
}

/** @throws DryRunFileError when the responses can't be used */
export const dryRun = async (input: DryRunOptions): Promise<DryRun> => {
  const { task, event, clock, environment, readFile, secrets = [] } = input
  const redactor = new Redactor(secrets)
  const requests: TracedRequest[] = []
  const apiRequests: HttpRequest[] = []
  const operations: Operation[] = []
  const transport = memoryTransport(input.discovery, (operation) => operations.push(operation))
  const caller = new HttpClient({
    roundTrip: cannedResponses(input.responses, (request) => apiRequests.push(request)),
    clock,
    timeoutMs: 10_000,
    random: () => 0.5,
    onRequest: (request) => requests.push(request),
  })
  const { trace } = await run({
    task,
    event,
    config: { adapter: task.adapter },
    environment,
    redactor,
    requests,
    context: {
      api: new ApiReader(caller, hrefOf(event), event.data.id),
      inventory: new ResourceInventory({ storage: memoryStorage() }),
      ownsWhatItFinds: true,
      transports: { kubernetes: transport, http: transport },
      reportDedup: new ReportDedup(),
      readFile,
      clock,
      log: silent,
      signal: new AbortController().signal,
    },
  })
  return {
    ...trace,
    ...redactor.redactDocument({
      apiRequests: apiRequests.map(({ method, url, body }) => ({ method, url, ...(body && { body: parsed(body) }) })),
      transportOperations: operations,
    }),
  }
}

const parsed = (body: string): Json => {
  try {
    return JSON.parse(body) as Json
  } catch {
    return body
  }
}

/** A clock whose sleeps take no time: it moves on by as much instead. */
export const instantClock = (start: Date): Clock => {
  let now = start.getTime()
  return {
    now: () => new Date(now),
    monotonic: () => now,
    sleep: async (duration) => {
      now += typeof duration === 'number' ? duration : 0
    },
  }
}
