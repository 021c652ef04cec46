import type { Permission } from '#operator/model/permission.ts'
import type { OperatorSettings } from '#operator/operator.ts'
import { UsageError } from '../failure.ts'
import type { ManagerOptions } from './command.ts'

/**
 * The Lease that replicas of one manager share: managers with other controllers or another SentinelConfig have another.
 * @returns undefined without `--leader-elect`
 * @throws UsageError when there is no namespace to keep the Lease in
 */
export const electionOf = ({
  leaderElect,
  namespace,
  controllers,
  config,
}: ManagerOptions): OperatorSettings['election'] => {
  if (!leaderElect) return undefined
  const home = process.env.POD_NAMESPACE ?? namespace
  if (home === undefined)
    throw new UsageError('--leader-elect: a Lease needs a namespace: give --namespace or POD_NAMESPACE')
  return { lease: ['muster', ...controllers, ...(config === undefined ? [] : [config])].join('-'), namespace: home }
}

/** What contending for that Lease takes. */
export const electionPermissions = ({ leaderElect }: ManagerOptions): readonly Permission[] =>
  leaderElect
    ? [{ group: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'create', 'update'], scope: 'Home' }]
    : []
