/** How people steer a rollout: annotations of the Deployment. Each names what it is about, so that an old one does no harm. Pure. */

/** The number of the batch that may begin, and all before it. */
export const APPROVE_ANNOTATION = 'fleet.nationtech.io/approve-batch'
/** Any text that was not there before: a suspended rollout goes on in spite of the failures of its batch. */
export const RESUME_ANNOTATION = 'fleet.nationtech.io/resume'
/** The number of the revision that is taken back. */
export const ABORT_ANNOTATION = 'fleet.nationtech.io/abort-revision'

export interface Controls {
  /** 0: none. */
  readonly approvedBatch: number
  readonly resume: string | undefined
  readonly abortedRevision: number | undefined
}

/** An annotation whose value is no number from 1 on: what is wrong, and what to write. */
export class ControlError extends Error {
  constructor(annotation: string, value: string, of: string) {
    super(`the annotation ${annotation} is ${JSON.stringify(value)}: write the number of the ${of}, such as 2`)
    this.name = 'ControlError'
  }
}

const numberIn = (
  annotations: Readonly<Record<string, string>>,
  annotation: string,
  of: string,
): number | undefined => {
  const value = annotations[annotation]
  if (value === undefined) return undefined
  if (!/^[1-9][0-9]{0,8}$/.test(value)) throw new ControlError(annotation, value, of)
  return Number(value)
}

/** @throws ControlError */
export const controlsIn = (annotations: Readonly<Record<string, string>> = {}): Controls => ({
  approvedBatch: numberIn(annotations, APPROVE_ANNOTATION, 'batch') ?? 0,
  resume: annotations[RESUME_ANNOTATION],
  abortedRevision: numberIn(annotations, ABORT_ANNOTATION, 'revision'),
})
