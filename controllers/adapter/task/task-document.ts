import { AdapterTask, type AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { InvalidTaskError } from './task-problems.ts'

/** A task, and the adapter that runs it where the document says it. */
export interface TaskDocument {
  readonly task: unknown
  readonly adapter: { readonly name: string; readonly version?: string | undefined } | undefined
}

/** The fields of a spec that are no part of the task. */
const NON_TASK_FIELDS = [
  'adapter',
  'resourceType',
  'selector',
  'hyperfleetAPI',
  'events',
  'serviceAccountName',
  'suspend',
  'retention',
  'taskRef',
]

/** The task in an AdapterTask's spec. */
export const taskOfSpec = (spec: AdapterTaskSpec): TaskDocument => ({
  task: Object.fromEntries(Object.entries(spec).filter(([key]) => !NON_TASK_FIELDS.includes(key))),
  adapter: spec.adapter,
})

/**
 * The task in a document, which is a task file or the manifest of an AdapterTask.
 * @throws InvalidTaskError for a manifest whose task is elsewhere
 */
export const taskOfDocument = (document: unknown): TaskDocument => {
  if (typeof document !== 'object' || document === null || !('kind' in document) || document.kind !== AdapterTask.kind)
    return { task: document, adapter: undefined }
  const { spec } = document as { readonly spec?: AdapterTaskSpec }
  if (spec === undefined) throw new InvalidTaskError([{ path: 'spec', message: 'is missing: it is required here' }])
  if (spec.taskRef !== undefined)
    throw new InvalidTaskError([{ path: 'spec.taskRef', message: 'leads to a ConfigMap: give the task file itself' }])
  return taskOfSpec(spec)
}
