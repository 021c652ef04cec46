import type { CustomKind } from '#apis/schema/kind.ts'
import type { GeneratedFile } from './generated.ts'
import { manifest } from './manifest.ts'

interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const READ = ['get', 'list', 'watch']
const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection']

/** One rule a group: verbs on the kinds themselves, or on their status. */
const rulesFor = (kinds: readonly CustomKind[], verbs: readonly string[], suffix = ''): PolicyRule[] =>
  [...Map.groupBy(kinds, ({ resource }) => resource.group)].map(([group, members]) => ({
    apiGroups: [group],
    resources: members.map(({ resource }) => `${resource.plural}${suffix}`),
    verbs,
  }))

const clusterRole = (name: string, aggregateTo: readonly string[], rules: readonly PolicyRule[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: {
    name,
    labels: Object.fromEntries(aggregateTo.map((role) => [`rbac.authorization.k8s.io/aggregate-to-${role}`, 'true'])),
  },
  rules,
})

/**
 * What people may do with our kinds: who may view or edit a namespace may do the same with them. Only controllers write status.
 * Kubernetes: aggregated ClusterRoles view, edit and admin.
 */
export const peopleRolesFile = (kinds: readonly CustomKind[]): GeneratedFile => ({
  path: 'kustomize/base/rbac/people.yaml',
  text: manifest(
    clusterRole('muster-viewer', ['view'], [...rulesFor(kinds, READ), ...rulesFor(kinds, ['get'], '/status')]),
    clusterRole('muster-editor', ['edit', 'admin'], rulesFor(kinds, [...READ, ...WRITE])),
  ),
})
