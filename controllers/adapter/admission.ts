/** Admission: refuses an AdapterTask that can't be run (ADAPTER-57). Turned on by `--deny-invalid-tasks`. */
import { isDeepStrictEqual } from 'node:util'
import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { AdmissionContext } from '#operator/engine/context.ts'
import type { Clock } from '#operator/model/clock.ts'
import { PermanentError } from '#operator/model/errors.ts'
import type { Access } from './access.ts'
import { validateSpec } from './daemon/task-reader.ts'
import { taskLanguages } from './language/task-languages.ts'
import { InvalidTaskError } from './task/task-problems.ts'

/** @throws PermanentError that names each place in the spec and what to write there, as the condition of the task would */
export const refuseInvalidTask =
  ({ access, clock }: { readonly access: Access; readonly clock: Clock }) =>
  ({ object, old, operation, warnings }: AdmissionContext<AdapterTask>): void => {
    if (operation === 'DELETE') return
    // One that is bad already can still be labelled, and its finalizers taken away.
    if (old !== undefined && isDeepStrictEqual(old.spec, object.spec)) return
    const { taskRef } = object.spec
    if (taskRef !== undefined)
      warnings.push(`the task in the ConfigMap ${taskRef.name} is judged when it is read: look at the condition Ready`)
    try {
      const hints = validateSpec(object.spec, { access, languages: taskLanguages(() => clock.now()) })
      for (const { path, message } of hints) warnings.push(`spec.${path}: ${message}`)
    } catch (error) {
      if (!(error instanceof InvalidTaskError)) throw error
      throw new PermanentError(`spec: ${error.message}`, { reason: 'InvalidTask', cause: error })
    }
  }
