/** What the conditions of any object of ours ask of people: Ready, Reconciling and Stalled mean the same for every kind. Pure. */
import { standOf } from '../parts/conditions.ts'
import type { Finding } from './finding.ts'

/** On the way for longer than this, in milliseconds, is worth a look. */
export const PATIENCE = 15 * 60_000
/** What is in deletion for longer than this, in milliseconds, does not get on. */
const LEAVING_PATIENCE = 10 * 60_000

/** @param subject What `about` says of the object. */
export const standingFindings = (
  object: Parameters<typeof standOf>[0],
  subject: Pick<Finding, 'kind' | 'subject' | 'path' | 'kubectl'>,
  now: Date,
): readonly Finding[] => {
  const { word, reason, message, since } = standOf(object)
  const lasts = since === undefined ? 0 : now.getTime() - Date.parse(since)
  switch (word) {
    case 'Stalled':
      return [{ ...subject, severity: 'Act', reason, message, since }]
    case 'Not ready':
      return [{ ...subject, severity: 'Look', reason, message, since }]
    case 'Leaving':
      if (lasts < LEAVING_PATIENCE) return []
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
      return lasts < PATIENCE ? [] : [{ ...subject, severity: 'Wait', reason, message, since }]
    case 'Ready':
    case 'Unknown':
      return []
  }
}
