/** How people control a rollout: annotations of the Deployment. Each names the revision that it is for, so an old one has no effect. FLEET-41, FLEET-50. Pure. */

import { errorOf } from '#lib/errors/error-of.ts'
import { FLEET_ERRORS } from '../errors.ts'

/**
 * The batch that may begin, and all before it, with the revision that is rolled out: `2@5` never lets a batch of revision 6 begin.
 * `2@5.2` is of the batches of revision 5 as they were drawn the second time.
 */
export const APPROVE_ANNOTATION = 'fleet.nationtech.io/approve-batch'
/** Any text that was not there before: a suspended rollout goes on in spite of the failures of its batch. */
export const RESUME_ANNOTATION = 'fleet.nationtech.io/resume'
/** The number of the revision that is taken back. */
export const ABORT_ANNOTATION = 'fleet.nationtech.io/abort-revision'
/**
 * After a backup was restored: the highest revision of devices that is no longer known and may be overwritten. What the
 * Deployment says is rolled out as the revision after it.
 */
export const OVERRULE_ANNOTATION = 'fleet.nationtech.io/overrule-revision'

export interface Controls {
  readonly approved: { readonly batch: number; readonly revision: number; readonly drawn: number } | undefined
  readonly resume: string | undefined
  readonly abortedRevision: number | undefined
  /** 0: none. */
  readonly overruledRevision: number
}

/** An annotation whose value can't be meant: what is wrong, and what to write. */
export class ControlError extends errorOf(FLEET_ERRORS, 'ControlError') {
  constructor(annotation: string, value: string, instead: string) {
    super(`the annotation ${annotation} is ${JSON.stringify(value)}: write ${instead}`)
  }
}

type Annotations = Readonly<Record<string, string>>

const parseRevision = (annotations: Annotations, annotation: string): number | undefined => {
  const value = annotations[annotation]
  if (value === undefined) return undefined
  if (!/^[1-9][0-9]{0,8}$/.test(value))
    throw new ControlError(annotation, value, 'the number of the revision, such as 2')
  return Number(value)
}

const parseApproval = (annotations: Annotations): Controls['approved'] => {
  const value = annotations[APPROVE_ANNOTATION]
  if (value === undefined) return undefined
  const [, batch, revision, drawn = '1'] =
    /^([1-9][0-9]{0,8})@([1-9][0-9]{0,8})(?:\.([1-9][0-9]{0,8}))?$/.exec(value) ?? []
  if (batch === undefined || revision === undefined)
    throw new ControlError(
      APPROVE_ANNOTATION,
      value,
      'the batch and the revision, such as 2@5 for batch 2 of revision 5',
    )
  return { batch: Number(batch), revision: Number(revision), drawn: Number(drawn) }
}

/** @throws ControlError */
export const parseControls = (annotations: Annotations = {}): Controls => ({
  approved: parseApproval(annotations),
  resume: annotations[RESUME_ANNOTATION],
  abortedRevision: parseRevision(annotations, ABORT_ANNOTATION),
  overruledRevision: parseRevision(annotations, OVERRULE_ANNOTATION) ?? 0,
})
