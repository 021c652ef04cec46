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
 * A Deployment of the fleet runs any command on devices that no namespace owns: more than editing a namespace, so it takes a role that
 * an administrator binds on purpose. GITOPS-16.
 */
const runsOnDevices = ({ resource }: CustomKind) => resource.group === 'fleet.nationtech.io'

/**
 * What people may do with our kinds: users that may view or edit a namespace may do the same with them, but for what runs on devices. Only
 * controllers write status. Kubernetes: aggregated ClusterRoles view, edit and admin.
 */
export const peopleRolesFile = (kinds: readonly CustomKind[]): GeneratedFile => ({
  path: 'kustomize/base/rbac/people.yaml',
  text: manifest(
    clusterRole(
      'muster-viewer',
      ['view'],
      [
        ...rulesFor(kinds, READ),
        ...rulesFor(
          kinds.filter(({ resource }) => resource.subresources.includes('status')),
          ['get'],
          '/status',
        ),
      ],
    ),
    clusterRole(
      'muster-editor',
      ['edit', 'admin'],
      rulesFor(
        kinds.filter((kind) => !runsOnDevices(kind) && kind.isInternal !== true),
        [...READ, ...WRITE],
      ),
    ),
    clusterRole('muster-fleet-editor', [], rulesFor(kinds.filter(runsOnDevices), [...READ, ...WRITE])),
  ),
})
