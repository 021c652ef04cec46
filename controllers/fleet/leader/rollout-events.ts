/** What people are told by events of a Deployment: what changed from one status to the next. Pure. */
import type { DeploymentStatus } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'

export interface Notice {
  readonly type: 'normal' | 'warning'
  readonly reason: string
  readonly message: string
}

export const noticesOf = (before: DeploymentStatus | undefined, after: DeploymentStatus): readonly Notice[] => {
  const [was, is] = [before?.rollout, after.rollout]
  if (is === undefined) return []
  const notices: Notice[] = []
  const say = (type: Notice['type'], reason: string, message: string) => notices.push({ type, reason, message })
  const isNew = was?.revision !== is.revision
  if (isNew) say('normal', 'RolloutStarted', `revision ${is.revision} in ${batches(is.batches.length)}`)
  else if (was.batch !== is.batch)
    say('normal', 'BatchStarted', `batch ${is.batch} of ${is.batches.length} of revision ${is.revision}`)
  if (was?.phase === is.phase && !isNew) return notices
  const { message = '' } = is
  switch (is.phase) {
    case 'Active':
      break
    case 'Inactive':
      say('normal', 'RolloutCompleted', `revision ${is.revision}: ${after.ready ?? '0/0'} devices run it`)
      break
    case 'Waiting':
      say('normal', 'WaitingForApproval', message)
      break
    case 'Suspended':
      say('warning', 'RolloutSuspended', message)
      break
    case 'Paused':
      say('normal', 'RolloutPaused', message)
      break
  }
  return notices
}

const batches = (count: number): string => (count === 1 ? 'one batch' : `${count} batches`)
