/** The last runs of every task that this process works on: for `GET /adapter/runs`, for the status, and for others in the process. */
import type { AdapterRun, AdapterRuns, RunFilter } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import { truncateTrace } from './truncate-trace.ts'

/** Runs of a task that are kept, whatever they came to. */
const MAX_RUNS_PER_TASK = 50
/** Beyond them, of so many resources the last failure: other resources' runs must not push it out. */
const MAX_FAILURES_PER_TASK = 50

interface TaskRuns {
  readonly last: AdapterRun[]
  /** By resource, of those that still fail. */
  readonly failed: Map<string, AdapterRun>
}

export class RunHistory implements AdapterRuns {
  readonly #tasks = new Map<string, TaskRuns>()
  readonly #listeners = new Set<() => void>()
  #count = 0

  record(run: Omit<AdapterRun, 'id'>): void {
    const key = keyOf(run)
    const shelf: TaskRuns = this.#tasks.get(key) ?? { last: [], failed: new Map() }
    this.#tasks.set(key, shelf)
    const kept = { id: String(++this.#count), ...run, trace: truncateTrace(run.trace) }
    shelf.last.push(kept)
    if (shelf.last.length > MAX_RUNS_PER_TASK) shelf.last.shift()
    shelf.failed.delete(run.resource)
    if (run.trace.status === 'failed') {
      shelf.failed.set(run.resource, kept)
      const [oldest] = shelf.failed.keys()
      if (shelf.failed.size > MAX_FAILURES_PER_TASK && oldest !== undefined) shelf.failed.delete(oldest)
    }
    for (const listener of this.#listeners) listener()
  }

  /** Another process works on the task now, or it is gone. */
  forget(namespace: string, task: string): void {
    this.#tasks.delete(keyOf({ namespace, task }))
  }

  list(filter: RunFilter, limit: number): readonly AdapterRun[] {
    const found = new Map<string, AdapterRun>()
    for (const { last, failed } of this.#tasks.values())
      for (const run of [...failed.values(), ...last]) if (fits(run, filter)) found.set(run.id, run)
    return [...found.values()].toSorted((a, b) => Number(b.id) - Number(a.id)).slice(0, limit)
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

const keyOf = ({ namespace, task }: Pick<AdapterRun, 'namespace' | 'task'>): string => `${namespace}/${task}`

const fits = (run: AdapterRun, { namespace, task, resource, status }: RunFilter): boolean =>
  (namespace === undefined || run.namespace === namespace) &&
  (task === undefined || run.task === task) &&
  (resource === undefined || run.resource === resource) &&
  (status === undefined || run.trace.status === status)
