/** What the fleet asks of people. Pure. */

import type { DeploymentRow, DeviceRow, Recovery } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { approvalOf, awaitsApproval } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { objectPath, withQuery } from '../parts/links.ts'
import { deviceStateOf } from '../parts/placement-phases.ts'
import { conditionFindings } from './condition-findings.ts'
import { type Finding, findingSubject } from './finding.ts'

const KIND = `${Deployment.plural}.${Deployment.group}`

/** What keeps the operator from knowing the fleet, and what it dares not do by itself. */
export const recoveryFindings = ({ sources, brake }: Recovery): readonly Finding[] => {
  const subject = { kind: 'Fleet', path: '/deployments', kubectl: `kubectl get ${KIND} -A` }
  const stale = Object.entries(sources).flatMap(([source, sync]): Finding[] => {
    const problem = sync.phase === 'Converged' ? undefined : sync.problem
    if (problem === undefined) return []
    return [
      {
        ...subject,
        severity: sync.phase === 'Degraded' ? 'Act' : 'Look',
        subject: source,
        reason: sync.phase,
        message: `${problem}: what is shown is of ${sync.phase === 'Degraded' ? 'the moment before' : 'what was read so far'}`,
        since: sync.since.toISOString(),
      },
    ]
  })
  if (brake === undefined) return stale
  return [
    ...stale,
    { ...subject, severity: 'Act', subject: 'orphans', reason: 'BrakeOn', message: brake.message, since: undefined },
  ]
}

/** @param object Of the cache; undefined when it is not there yet. */
export const deploymentFindings = (
  { key, aggregate, rollout }: DeploymentRow,
  object: Deployment | undefined,
  now: Date,
): readonly Finding[] => {
  const [namespace = '', name = ''] = key.split('/')
  const path = objectPath('deployments', key)
  const subject =
    object === undefined
      ? { kind: 'Deployment', subject: key, path, kubectl: `kubectl describe ${KIND} ${name} -n ${namespace}` }
      : findingSubject(Deployment, object, path)
  const found: Finding[] = []
  if (rollout?.phase === 'Suspended')
    found.push({
      ...subject,
      severity: 'Act',
      reason: 'RolloutSuspended',
      message: rollout.message ?? 'a batch is below its threshold',
      since: rollout.batchStartedAt,
    })
  if (rollout !== undefined && awaitsApproval(rollout))
    found.push({
      ...subject,
      severity: 'Act',
      reason: 'AwaitsApproval',
      message: rollout.message ?? `batch ${rollout.batch} waits for approval`,
      since: rollout.batchStartedAt,
      kubectl: `kubectl annotate ${KIND} ${name} -n ${namespace} --overwrite fleet.nationtech.io/approve-batch=${approvalOf(rollout.batch + 1, rollout)}`,
    })
  if (aggregate.failed > 0)
    found.push({
      ...subject,
      severity: 'Look',
      reason: 'DevicesFailed',
      message: `it failed on ${aggregate.failed} of ${aggregate.matched} devices${aggregate.lastError === '' ? '' : `: ${aggregate.lastError}`}`,
      since: undefined,
    })
  const conditions = object === undefined ? [] : conditionFindings(object, subject, now)
  // A rollout that is suspended says so in the conditions as well: once is enough.
  return rollout?.phase === 'Suspended' ? found : [...conditions, ...found]
}

/** One finding for all devices that are away: a fleet has many, and a thousand lines are not read. */
export const deviceFindings = (devices: readonly DeviceRow[]): readonly Finding[] => {
  const away = devices.filter((device) => deviceStateOf(device) === 'offline')
  if (away.length === 0) return []
  const lastSeen = away.flatMap(({ lastSeen: at }) => at ?? []).sort((a, b) => a.getTime() - b.getTime())[0]
  const names = away
    .slice(0, 3)
    .map(({ name }) => name)
    .join(', ')
  const more = away.length > 3 ? ` and ${away.length - 3} more` : ''
  return [
    {
      severity: 'Look',
      kind: 'Device',
      subject: away.length === 1 ? names : `${away.length} devices`,
      path: withQuery('/devices', new URLSearchParams(), { state: 'offline' }),
      reason: 'Offline',
      message: `no heartbeat of ${names}${more}; of ${devices.length} devices`,
      since: lastSeen?.toISOString(),
      kubectl: 'kubectl get devices.fleet.nationtech.io',
    },
  ]
}
