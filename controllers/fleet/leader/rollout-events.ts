/** What people are told by events of a Deployment: what changed from one status to the next. Pure. */
import type { DeploymentStatus } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'

export interface RolloutEvent {
  readonly type: 'normal' | 'warning'
  readonly reason: string
  readonly message: string
}

export const rolloutEvents = (
  before: DeploymentStatus | undefined,
  after: DeploymentStatus,
): readonly RolloutEvent[] => {
  const [was, is] = [before?.rollout, after.rollout]
  if (is === undefined) return []
  const events: RolloutEvent[] = []
  const add = (type: RolloutEvent['type'], reason: string, message: string) => events.push({ type, reason, message })
  const isNew = was?.revision !== is.revision
  if (isNew) add('normal', 'RolloutStarted', `revision ${is.revision} in ${batches(is.batches.length)}`)
  else if (was.batch !== is.batch)
    add('normal', 'BatchStarted', `batch ${is.batch} of ${is.batches.length} of revision ${is.revision}`)
  if (was?.phase === is.phase && !isNew) return events
  const { message = '' } = is
  switch (is.phase) {
    case 'Active':
      break
    case 'Inactive':
      add('normal', 'RolloutCompleted', `revision ${is.revision}: ${after.ready ?? '0/0'} devices run it`)
      break
    case 'Waiting':
      add('normal', 'WaitingForApproval', message)
      break
    case 'Suspended':
      add('warning', 'RolloutSuspended', message)
      break
    case 'Paused':
      add('normal', 'RolloutPaused', message)
      break
  }
  return events
}

const batches = (count: number): string => (count === 1 ? 'one batch' : `${count} batches`)
