import { ApiError, NetworkError } from '#operator/client/errors.ts'
import { UnknownKindError } from '#operator/client/rest-mapper.ts'
import { QUOTA_WORDS } from '../run/resources/awaited-pods.ts'
import { describeObject } from '../run/resources/object.ts'
import { TaskError } from '../run/task-error.ts'
import type { JsonObject } from '../task/task.ts'
import { explainErrors } from './explain-errors.ts'

/** What the Kubernetes API server fails with, as a run's failure: its reason, and where there is one, what to write instead. */
export const explained = explainErrors((error, otherwise, what) => {
  if (error instanceof UnknownKindError) return new TaskError('InvalidManifest', error.message, { cause: error })
  if (error instanceof NetworkError) return new TaskError('Unreachable', `${what}: ${error.message}`, { cause: error })
  if (!(error instanceof ApiError)) return undefined
  const reason = isQuotaExceeded(error) ? 'QuotaExceeded' : error.status === 403 ? 'Forbidden' : otherwise
  return new TaskError(reason, `${what}: ${error.message}${remedy(error)}`, { cause: error })
})

const isQuotaExceeded = ({ status, message }: ApiError): boolean => status === 403 && message.includes(QUOTA_WORDS)

const remedy = ({ status, message }: ApiError): string => {
  if (status === 422 && /immutable/.test(message))
    return ': delete the object, and it is made again; with recreate_on_change: true it is for each new generation'
  return ''
}

/** Another task has the object, with other fields. */
export const differing = (manifest: JsonObject, task: string, conflict: ApiError): TaskError => {
  const what = `${describeObject(manifest)} is applied by the AdapterTask ${task} too, and not with the same fields`
  return new TaskError('ApplyFailed', `${what}: ${conflict.message}`, { cause: conflict, isWaiting: true })
}
