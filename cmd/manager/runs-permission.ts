import { type Binding, isLoopback } from '#operator/binding.ts'
import type { Permission } from '#operator/model/permission.ts'

/** What asking the API server about callers needs: what the ClusterRole system:auth-delegator grants. */
export const ASKING_ABOUT_CALLERS: readonly Permission[] = [
  { group: 'authentication.k8s.io', resource: 'tokenreviews', verbs: ['create'], scope: 'Cluster' },
  { group: 'authorization.k8s.io', resource: 'subjectaccessreviews', verbs: ['create'], scope: 'Cluster' },
]

export const runsPermissions = ({
  adapterRunsBindAddress: binding,
  controllers,
}: {
  readonly adapterRunsBindAddress?: Binding | undefined
  readonly controllers: readonly string[]
}): readonly Permission[] =>
  binding === undefined || isLoopback(binding) || !controllers.includes('adapter') ? [] : ASKING_ABOUT_CALLERS
