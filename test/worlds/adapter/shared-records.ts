/** The clusters of a HyperFleet API in memory, to which several tasks report. */
import { CLUSTERS, type ClusterId, type TaskName } from './shared-tasks.ts'

interface Report {
  readonly observed_generation: number
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
}

interface Cluster {
  generation: number
  isDeleted: boolean
  /** Names of tasks that select it. */
  readonly labels: Set<string>
  /** By adapter. */
  readonly reports: Map<string, Report>
}

interface Request {
  readonly method: string
  readonly url: string
  readonly body?: string | undefined
}

export class SharedRecords {
  readonly #clusters = new Map<string, Cluster>()
  readonly #isTaskThere: (task: TaskName) => boolean

  constructor(tasks: readonly TaskName[], isTaskThere: (task: TaskName) => boolean) {
    this.#isTaskThere = isTaskThere
    for (const id of CLUSTERS)
      this.#clusters.set(id, { generation: 1, isDeleted: false, labels: new Set(tasks), reports: new Map() })
  }

  select(task: TaskName, id: ClusterId, isSelected: boolean): void {
    const labels = this.#clusters.get(id)?.labels
    if (isSelected) labels?.add(task)
    else labels?.delete(task)
    this.#settle(id)
  }

  /** It gets another generation. */
  change(id: ClusterId): void {
    const record = this.#clusters.get(id)
    if (record !== undefined) record.generation++
  }

  delete(id: ClusterId): void {
    const record = this.#clusters.get(id)
    if (record === undefined || record.isDeleted) return
    record.isDeleted = true
    record.generation++
    this.#settle(id)
  }

  /** Of the last report that was taken. */
  conditionOf(task: TaskName, cluster: ClusterId, type: string): string | undefined {
    const { conditions = [] } = this.#clusters.get(cluster)?.reports.get(task) ?? {}
    return conditions.find((one) => one.type === type)?.status
  }

  isServed(task: string, cluster: string): boolean {
    const record = this.#clusters.get(cluster)
    const isThere = this.#isTaskThere(task as TaskName)
    return isThere && record !== undefined && !record.isDeleted && record.labels.has(task)
  }

  has(cluster: string): boolean {
    return this.#clusters.has(cluster)
  }

  answer(task: TaskName, { method, url, body }: Request) {
    const id = /clusters\/([^/?]+)/.exec(url)?.[1] ?? ''
    const record = this.#clusters.get(id)
    if (record === undefined) return { status: 404, headers: {}, text: '{"code":"HYPERFLEET-NTF-001"}' }
    if (method === 'PUT') {
      record.reports.set(task, JSON.parse(body ?? '{}') as Report)
      this.#settle(id)
      return { status: 200, headers: {}, text: '{}' }
    }
    const { generation, isDeleted } = record
    const labels = Object.fromEntries([...record.labels].map((key) => [key, 'yes']))
    const text = { id, name: id, generation, labels, ...(isDeleted && { deleted_time: '2026-01-31T12:00:00Z' }) }
    return { status: 200, headers: {}, text: JSON.stringify(text) }
  }

  settleAll(): void {
    for (const id of CLUSTERS) this.#settle(id)
  }

  /** The record goes when each adapter that has reported has let it go. */
  #settle(id: string): void {
    const record = this.#clusters.get(id)
    if (record === undefined || !record.isDeleted) return
    const isDone = [...record.reports].every(([task, { observed_generation, conditions }]) => {
      if (!this.#isTaskThere(task as TaskName)) return true
      const says = (type: string, status: string) =>
        conditions.some((condition) => condition.type === type && condition.status === status)
      if (conditions[0]?.reason === 'NotSelected') return !record.labels.has(task)
      return observed_generation === record.generation && says('Applied', 'False') && says('Health', 'True')
    })
    if (isDone) this.#clusters.delete(id)
  }
}
