/** The tasks of a shared world, what they make, and what happens to them. */
import type { TaskRunnerOptions } from '#controllers/adapter/daemon/task-runner.ts'

export const TASKS = ['left', 'right'] as const
export const CLUSTERS = ['c1', 'c2'] as const
export type TaskName = (typeof TASKS)[number] | 'far'
export type ClusterId = (typeof CLUSTERS)[number]

export interface SharedWorldOptions {
  /** The objects of the tasks have no fields of their own. */
  readonly isBare: boolean
  /** Requests wait so many turns, by turns. */
  readonly delays: readonly number[]
  /** Namespaces of the tasks, by their names; `left` and `right` in one when left out. Objects are in `n`. */
  readonly tasks?: Readonly<Partial<Record<TaskName, string>>>
  /** Managers may read other namespaces. */
  readonly readsAll?: boolean
  /** The colour that a task gives its objects, by its name: red when left out, none when empty. */
  readonly colours?: Readonly<Partial<Record<TaskName, string>>>
  /** Retention of a task, by its name. */
  readonly retention?: Readonly<Partial<Record<TaskName, TaskRunnerOptions['retention']>>>
  /** Those that have the resources in the opposite order. */
  readonly backwards?: readonly TaskName[]
  /** Those that make nothing any more. */
  readonly idle?: readonly TaskName[]
  /** Objects are created anew for a new generation. */
  readonly recreates?: boolean
}

/** What a task makes of a cluster, as names: one object that all four have, two that two of them have, and one of its own. */
export const wantedBy = (task: string, cluster: string): readonly string[] => [
  'all',
  `of-${cluster}`,
  `of-${task}`,
  `of-${task}-${cluster}`,
]

export const resourcesOf = (
  task: TaskName,
  { isBare, colours, recreates, backwards, idle }: Required<SharedWorldOptions>,
): object[] => {
  if (idle.includes(task)) return []
  const resources = wantedBy(task, '{{ .event.id }}').map((name, at) => ({
    name: `r${at}`,
    manifest: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'n' },
      ...(!isBare && colours[task] !== '' && { data: { colour: colours[task] ?? 'red' } }),
    },
    ...(recreates && { recreate_on_change: true }),
    discovery: { namespace: 'n', by_name: name },
  }))
  return backwards.includes(task) ? resources.toReversed() : resources
}

/** What happens to a request of a task's manager. */
export interface Fault {
  readonly task: TaskName
  /** Which of its requests in this step. */
  readonly at: number
  /** `refuse`: the next object is not applied, 403. `cut`: no answer. `kill`: no answer, and the manager ends. `wait`: the runs of other tasks begin and end before it is sent. */
  readonly does: 'refuse' | 'cut' | 'kill' | 'wait'
  /** The server has done it. */
  readonly isDone: boolean
}

/** What another writer puts on an object, under any field manager. */
export interface Forgery {
  /** Of the object. */
  readonly name: string
  readonly manager: string
  readonly fields: Readonly<Partial<Record<'labels' | 'annotations' | 'data', Readonly<Record<string, string>>>>>
}

export interface Run {
  readonly task: TaskName
  readonly cluster: ClusterId
}

export const taskPath = (namespace: string, task: string): string =>
  `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${namespace}/adaptertasks/${task}`
