/** What the conditions of any object of ours ask of people: Ready, Reconciling and Stalled mean the same for every kind. Pure. */
import { summarizeConditions } from '../parts/conditions.ts'
import type { Finding } from './finding.ts'

/** On the way for longer than this, in milliseconds, is worth a look. */
export const RECONCILING_GRACE_MS = 15 * 60_000
/** What is in deletion for longer than this, in milliseconds, does not get on. */
const DELETING_GRACE_MS = 10 * 60_000

/** @param subject What `about` says of the object. */
export const conditionFindings = (
  object: Parameters<typeof summarizeConditions>[0],
  subject: Pick<Finding, 'kind' | 'subject' | 'path' | 'kubectl'>,
  now: Date,
): readonly Finding[] => {
  const { word, reason, message, since } = summarizeConditions(object)
  const lasts = since === undefined ? 0 : now.getTime() - Date.parse(since)
  switch (word) {
    case 'Stalled':
      return [{ ...subject, severity: 'Act', reason, message, since }]
    case 'Not ready':
      return [{ ...subject, severity: 'Look', reason, message, since }]
    case 'Leaving':
      if (lasts < DELETING_GRACE_MS) return []
      return [
        {
          ...subject,
          severity: 'Look',
          reason: 'DeletionWaits',
          message: message || 'its deletion does not end',
          since,
        },
      ]
    case 'On its way':
      return lasts < RECONCILING_GRACE_MS ? [] : [{ ...subject, severity: 'Wait', reason, message, since }]
    case 'Ready':
    case 'Unknown':
      return []
  }
}
