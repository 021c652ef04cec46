/** Subjects and their rights in a namespace, by the objects of RBAC. */
import type { Subject } from '#apis/kubernetes.ts'
import { isIn, NAMESPACE, nameOf, type Objects, type Rule, TASK_ACCOUNTS_NAMESPACE } from '../model.ts'

export const RBAC_KINDS = ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'] as const
export type RbacObjects = Pick<Objects, (typeof RBAC_KINDS)[number]>

/** Groups that every user, or every ServiceAccount, is in, and the user of requests without a token. */
export const ALL_USERS: ReadonlySet<string> = new Set([
  'group:system:authenticated',
  'group:system:unauthenticated',
  'group:system:serviceaccounts',
  'system:anonymous',
])

/** A subject with the rules that one binding gives it. */
export interface Holder {
  /** A user's name, `system:serviceaccount:NAMESPACE:NAME`, or `group:NAME`. */
  readonly subject: string
  /** The binding. */
  readonly by: string
  readonly rules: readonly Rule[]
  /** Whether in every namespace. */
  readonly isEverywhere: boolean
}

const subjectOf = ({ kind, name, namespace = NAMESPACE }: Subject): string => {
  if (kind === 'ServiceAccount') return `system:serviceaccount:${namespace}:${name}`
  return kind === 'Group' ? `group:${name}` : name
}

/** The subjects with rights in a namespace, Muster’s when none is named, by bindings there and in the cluster. */
export const holdersOf = (objects: RbacObjects, place = NAMESPACE): readonly Holder[] => {
  const clusterRoles = new Map(objects.ClusterRole.map(({ metadata, rules }) => [metadata.name, rules ?? []]))
  const roles = new Map(objects.Role.filter(isIn(place)).map(({ metadata, rules }) => [metadata.name, rules ?? []]))
  const of = (kind: 'ClusterRoleBinding' | 'RoleBinding'): readonly Holder[] =>
    (kind === 'RoleBinding' ? objects.RoleBinding.filter(isIn(place)) : objects.ClusterRoleBinding).flatMap(
      ({ metadata, roleRef, subjects = [] }) => {
        const rules = (roleRef.kind === 'ClusterRole' ? clusterRoles : roles).get(roleRef.name) ?? []
        const by = nameOf(kind, metadata)
        return subjects.map((subject) => ({
          subject: subjectOf(subject),
          by,
          rules,
          isEverywhere: kind === 'ClusterRoleBinding',
        }))
      },
    )
  return [...of('ClusterRoleBinding'), ...of('RoleBinding')]
}

/** What a rule can allow: a verb on a resource, of one name or of all (`*`). */
export interface Grant {
  /** `group/resource`, or `resource` of the core group. */
  readonly resource: string
  readonly verb: string
  readonly name: string
}

/** Verbs on resources, which a rule may allow. */
export interface Access {
  /** `group/resource`, or `resource` of the core group; a subresource follows a colon. */
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const parse = (resource: string) => {
  const [name = '', group = ''] = resource.split('/').toReversed()
  return { group, name: name.replace(':', '/') }
}

const matchesResource = (pattern: string, name: string): boolean => {
  const [, subresource] = name.split('/')
  return pattern === '*' || pattern === name || (subresource !== undefined && pattern === `*/${subresource}`)
}

/** What rules allow of some accesses. Kubernetes: rbac, RuleAllows. */
export const grantsOf = (rules: readonly Rule[], accesses: readonly Access[]): readonly Grant[] =>
  accesses.flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => {
      const { group, name } = parse(resource)
      return rules
        .filter(({ apiGroups = [] }) => apiGroups.includes('*') || apiGroups.includes(group))
        .filter((rule) => (rule.resources ?? []).some((pattern) => matchesResource(pattern, name)))
        .flatMap((rule) =>
          verbs
            .filter((verb) => rule.verbs.includes('*') || rule.verbs.includes(verb))
            .flatMap((verb) => (rule.resourceNames ?? ['*']).map((only) => ({ resource, verb, name: only }))),
        )
    }),
  )

/** Every verb on everything. */
const isAll = ({ apiGroups, resources, verbs }: Rule): boolean =>
  [apiGroups, resources, verbs].every((words) => words?.includes('*'))

/** Kubernetes' own: its controllers, its nodes, its masters. */
const isKubernetes = (subject: string): boolean =>
  /^(system:(?!serviceaccount:|anonymous)|system:serviceaccount:kube-system:|group:system:(?!serviceaccounts|authenticated|unauthenticated))/.test(
    subject,
  )

const OWN = [NAMESPACE, TASK_ACCOUNTS_NAMESPACE].map((namespace) => `system:serviceaccount:${namespace}:`)

/** Subjects that may do everything, and so are held by nothing here: no group of all users, and no account of Muster or of a task. */
export const administratorsOf = (holders: readonly Holder[]): ReadonlySet<string> =>
  new Set(
    holders
      .filter(({ isEverywhere, rules }) => isEverywhere && rules.some(isAll))
      .map(({ subject }) => subject)
      .filter((subject) => !ALL_USERS.has(subject) && !OWN.some((prefix) => subject.startsWith(prefix))),
  )

export const isTrusted = (subject: string, administrators: ReadonlySet<string>): boolean =>
  isKubernetes(subject) || administrators.has(subject)

export const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'] as const
export const ROLES = ['roles', 'clusterroles'].map((name) => `rbac.authorization.k8s.io/${name}`)
export const TOKENS: Access = { resources: ['serviceaccounts:token'], verbs: ['create'] }

/** `get, list secrets a; create pods`: grants as people say them, by resource. */
export const textOf = (grants: readonly Grant[]): string =>
  [...Map.groupBy(grants, ({ resource }) => resource)]
    .map(([resource, group]) => {
      const names = new Set(group.map(({ name }) => name))
      const verbs = [...new Set(group.map(({ verb }) => verb))].join(', ')
      const only = names.has('*') ? '' : ` ${[...names].join(', ')}`
      return `${verbs} ${resource.replace(/^.*\//, '').replace(':', '/')}${only}`
    })
    .join('; ')
