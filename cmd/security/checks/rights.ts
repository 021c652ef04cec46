import { isDeepStrictEqual } from 'node:util'
import { type ProviderRole, providerRoleOf } from '#controllers/clusterpool/model/provider.ts'
import { LINES, type Line } from '../lines.ts'
import {
  ADMIN_NAMESPACE,
  type Check,
  type ClusterRole,
  defineCheck,
  NAMESPACE,
  nameOf,
  type Part,
  type Rule,
  shippedOf,
  TASK_ACCOUNTS_NAMESPACE,
} from '../model.ts'
import {
  type Access,
  ALL_USERS,
  administratorsOf,
  type Grant,
  grantsOf,
  type Holder,
  holdersOf,
  isTrusted,
  RBAC_KINDS,
} from './grants.ts'

/** Rights in Muster's namespace that break a line for whom they are given to, but for the accounts of the install. */
interface Right {
  readonly id: string
  readonly line: Line
  readonly accesses: readonly Access[]
}

const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'] as const
const CHANGE = ['update', 'patch', 'delete', 'deletecollection'] as const
const ADMISSION = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map(
  (name) => `admissionregistration.k8s.io/${name}`,
)
const WORKLOADS = [
  'pods',
  'replicationcontrollers',
  ...['deployments', 'daemonsets', 'replicasets', 'statefulsets'].map((name) => `apps/${name}`),
  ...['jobs', 'cronjobs'].map((name) => `batch/${name}`),
]
const ROLES = ['roles', 'clusterroles'].map((name) => `rbac.authorization.k8s.io/${name}`)

const TOKENS: Access = { resources: ['serviceaccounts:token'], verbs: ['create'] }
/** By each of them the holder runs something as any account of the namespace. */
const PODS: readonly Access[] = [
  { resources: WORKLOADS, verbs: ['create', 'update', 'patch'] },
  { resources: ['pods:exec', 'pods:attach'], verbs: ['get', 'create'] },
  { resources: ['pods:ephemeralcontainers'], verbs: ['update', 'patch'] },
]
const ESCALATION: Access = { resources: ROLES, verbs: ['bind', 'escalate'] }

const RIGHTS: readonly Right[] = [
  {
    id: 'rights-impersonate',
    line: LINES.taskAccount,
    accesses: [{ resources: ['serviceaccounts', 'users', 'groups'], verbs: ['impersonate'] }, TOKENS],
  },
  {
    id: 'rights-pods',
    line: LINES.accounts,
    accesses: PODS,
  },
  {
    id: 'rights-secrets',
    line: LINES.accounts,
    accesses: [{ resources: ['secrets'], verbs: ['get', 'list', 'watch', ...WRITE] }],
  },
  {
    id: 'rights-configuration',
    line: LINES.configuration,
    accesses: [{ resources: ['configmaps'], verbs: WRITE }],
  },
  {
    id: 'rights-accounts',
    line: LINES.adapter,
    accesses: [{ resources: ['serviceaccounts'], verbs: ['create'] }],
  },
  {
    id: 'rights-roles',
    line: LINES.accounts,
    accesses: [ESCALATION],
  },
  {
    id: 'rights-defences',
    line: LINES.defences,
    accesses: [
      { resources: ADMISSION, verbs: CHANGE },
      { resources: ['networking.k8s.io/networkpolicies'], verbs: WRITE },
      { resources: ['namespaces'], verbs: CHANGE },
    ],
  },
  {
    id: 'rights-assignment',
    line: LINES.pools,
    accesses: [
      {
        resources: ['hive.openshift.io/clusterdeployments:assignment', 'hive.openshift.io/clusterclaims:assignment'],
        verbs: ['update'],
      },
    ],
  },
]

/** What the install gives a subject, in every namespace or in Muster's alone. */
const isShipped = (
  grant: Grant,
  { subject, isEverywhere }: Holder,
  shipped: readonly Holder[],
  accesses: readonly Access[],
): boolean =>
  shipped.some(
    (own) =>
      own.subject === subject &&
      (own.isEverywhere || !isEverywhere) &&
      grantsOf(own.rules, accesses).some(
        ({ resource, verb, name }) =>
          resource === grant.resource && verb === grant.verb && (name === '*' || name === grant.name),
      ),
  )

const POOLS = `system:serviceaccount:${NAMESPACE}:hyperfleet-clusterpool`

/** Pools let the account of a provider in beside its clusters, also of one that does not come with Muster: it must be a task's. SECURITY-13. */
const isOfProvider = ({ resource, verb, name }: Grant, { subject }: Holder, roles: readonly ClusterRole[]): boolean => {
  const role = roles.find(({ metadata }) => metadata.name === name)
  const isBinding = subject === POOLS && verb === 'bind' && resource.endsWith('/clusterroles')
  return isBinding && role !== undefined && providerRoleOf(role)?.account.namespace === TASK_ACCOUNTS_NAMESPACE
}

const CLUSTERS = 'hive.openshift.io/clusterdeployments'

/**
 * By which an account has more than its ClusterRole says, lets others in, or changes what a cluster is. Of Secrets beside clusters a provider
 * has the names only as clusters come.
 */
const BEYOND: readonly Access[] = [
  { resources: ROLES, verbs: ['create', 'update', 'patch', 'bind', 'escalate'] },
  {
    resources: ['rolebindings', 'clusterrolebindings'].map((name) => `rbac.authorization.k8s.io/${name}`),
    verbs: ['create', 'update', 'patch'],
  },
  { resources: ['serviceaccounts', 'users', 'groups'], verbs: ['impersonate'] },
  TOKENS,
  ...['exec', 'attach', 'portforward'].map((name) => ({ resources: [`pods:${name}`], verbs: ['get', 'create'] })),
  { resources: ['pods:ephemeralcontainers'], verbs: ['update', 'patch'] },
  { resources: ['pods:proxy', 'services:proxy'], verbs: ['get', 'create', 'update', 'patch', 'delete'] },
  { resources: ['secrets'], verbs: ['list', 'watch'] },
  { resources: [CLUSTERS], verbs: WRITE },
  {
    resources: ['assignment', 'finalizers', 'status'].map((part) => `${CLUSTERS}:${part}`),
    verbs: ['update', 'patch'],
  },
]

const wildcardsOf = (rules: readonly Rule[]): readonly string[] =>
  rules.some(({ apiGroups = [], resources = [], verbs }) =>
    [...apiGroups, ...resources, ...verbs].some((word) => word.includes('*')),
  )
    ? ['has * in a rule']
    : []

const accountOf = ({ account: { namespace, name } }: ProviderRole): string =>
  `system:serviceaccount:${namespace}:${name}`

const ANOTHERS = 'apply it again, as this release ships it, and make a ClusterRole of another name for another account'
const FURTHER =
  'name in its rules each kind that its task makes, with the verbs get, create, patch and delete, and take this out: docs/providers.md#its-rights'

/**
 * What pools hand out beside clusters is named, and gives nothing further, but what is shipped with a policy that holds its account. Pools
 * bind without the verb what they have themselves, so every role of a provider counts. SECURITY-18, SECURITY-19.
 */
const providersCheck = defineCheck('rights-providers', ['ClusterRole'], ({ ClusterRole: roles }, parts) => {
  const known = shippedOf(parts, 'ClusterRole')
  return roles.flatMap(({ metadata, rules }) => {
    const role = providerRoleOf({ metadata })
    if (role === undefined) return []
    const own = known.find((each) => each.metadata.name === role.name)
    const held = own && providerRoleOf(own)
    const isKnown = (grant: Grant) =>
      held !== undefined && grantsOf(own?.rules ?? [], BEYOND).some((each) => isDeepStrictEqual(each, grant))
    const beyond = grantsOf(rules ?? [], BEYOND).filter((grant) => !isKnown(grant))
    const anothers =
      held === undefined || isDeepStrictEqual(held, role)
        ? []
        : [`has what ${accountOf(held)} has beside those of ${held.provider}, by a policy that holds that one`]
    const further = [...wildcardsOf(rules ?? []), ...(beyond.length === 0 ? [] : [`may ${textOf(beyond)}`])]
    const found = [
      ...anothers.map((what) => ({ what, todo: ANOTHERS })),
      ...further.map((what) => ({ what, todo: FURTHER })),
    ]
    return found.map(({ what, todo }) => ({
      line: LINES.providerRights,
      where: nameOf('ClusterRole', metadata),
      what: `beside the clusters of ${role.provider}, ${accountOf(role)} ${what}`,
      todo,
    }))
  })
})

const textOf = (grants: readonly Grant[]): string =>
  [...Map.groupBy(grants, ({ resource }) => resource)]
    .map(([resource, group]) => {
      const names = new Set(group.map(({ name }) => name))
      const verbs = [...new Set(group.map(({ verb }) => verb))].join(', ')
      const only = names.has('*') ? '' : ` ${[...names].join(', ')}`
      return `${verbs} ${resource.replace(/^.*\//, '').replace(':', '/')}${only}`
    })
    .join('; ')

const shippedHolders = (parts: readonly Part[], place: string): readonly Holder[] =>
  parts.flatMap(({ objects }) => holdersOf(objects, place))

const TAKE_AWAY = 'take the right or the binding away, or name the subject in --trusted-subjects if it is meant'

/** By which a subject acts as an account of the namespace, or makes one. */
const ACTS_AS: ReadonlySet<string> = new Set(['rights-impersonate', 'rights-pods', 'rights-accounts', 'rights-roles'])

/**
 * No subject but administrators has more than the install gives it, in Muster's namespace; nor may it act as the accounts of tasks, or make
 * some, by a binding in theirs. SECURITY-10.
 */
const rightCheck = ({ id, line, accesses }: Right, trusted: ReadonlySet<string>): Check =>
  defineCheck(id, RBAC_KINDS, (objects, parts) =>
    (ACTS_AS.has(id) ? [NAMESPACE, TASK_ACCOUNTS_NAMESPACE] : [NAMESPACE]).flatMap((place) => {
      const holders = holdersOf(objects, place)
      const shipped = shippedHolders(parts, place)
      const administrators = new Set([...administratorsOf(holders), ...trusted])
      return (
        holders
          .filter(({ subject }) => !isTrusted(subject, administrators))
          // Those hold in Muster's namespace as well.
          .filter(({ isEverywhere }) => place === NAMESPACE || !isEverywhere)
          .flatMap((holder) => {
            const grants = grantsOf(holder.rules, accesses).filter(
              (grant) =>
                !isShipped(grant, holder, shipped, accesses) && !isOfProvider(grant, holder, objects.ClusterRole),
            )
            if (grants.length === 0) return []
            const { subject, by } = holder
            return [{ line, where: by, what: `${subject} may ${textOf(grants)}`, todo: TAKE_AWAY }]
          })
      )
    }),
  )

/**
 * No subject has tokens of the administrator's account by a binding in its namespace, as it is shipped. Bindings in the cluster are looked
 * at by the checks of Muster's namespace. GITOPS-33, SECURITY-11.
 */
const administratorCheck = (trusted: ReadonlySet<string>): Check =>
  defineCheck('rights-administrator', RBAC_KINDS, (objects) => {
    const holders = holdersOf(objects, ADMIN_NAMESPACE)
    const administrators = new Set([...administratorsOf(holders), ...trusted])
    return holders
      .filter(({ subject, isEverywhere }) => !isEverywhere && !isTrusted(subject, administrators))
      .flatMap(({ subject, by, rules }) => {
        const grants = grantsOf(rules, [TOKENS, ...PODS, ESCALATION])
        if (grants.length === 0) return []
        const what = `${subject} may ${textOf(grants)}`
        return [{ line: LINES.administrator, where: by, what, todo: TAKE_AWAY }]
      })
  })

const MUSTER_GROUPS = ['hyperfleet.redhat.com', 'hive.openshift.io', 'fleet.nationtech.io']

/** No group of all users has rights on what is Muster's. SECURITY-10. */
const allUsersCheck = defineCheck('rights-all-users', RBAC_KINDS, (objects) =>
  holdersOf(objects)
    .filter(({ subject }) => ALL_USERS.has(subject))
    .flatMap(({ subject, by, rules }) => {
      const rule = rules.find(({ apiGroups = [] }) =>
        ['*', ...MUSTER_GROUPS].some((group) => apiGroups.includes(group)),
      )
      if (rule === undefined) return []
      const what = `${subject} may ${rule.verbs.join(', ')} ${(rule.resources ?? []).join(', ')}`
      return [
        { line: LINES.allUsers, where: by, what, todo: 'name the people, groups or ServiceAccounts who are meant' },
      ]
    }),
)

const AGGREGATES = ['edit', 'admin'].map((role) => `rbac.authorization.k8s.io/aggregate-to-${role}`)
const FLEET_WRITES: readonly Access[] = [
  { resources: ['fleet.nationtech.io/deployments', 'fleet.nationtech.io/devices'], verbs: WRITE },
]

/** Editing a namespace is no right to put programs on devices. GITOPS-16, SECURITY-10. */
const fleetEditorsCheck = defineCheck('rights-fleet', ['ClusterRole'], ({ ClusterRole: roles }) =>
  roles
    .filter(({ metadata }) => AGGREGATES.some((label) => metadata.labels?.[label] === 'true'))
    .flatMap(({ metadata, rules }) => {
      const grants = grantsOf(rules ?? [], FLEET_WRITES)
      if (grants.length === 0) return []
      const what = `it gives every editor of a namespace: ${textOf(grants)}`
      const where = nameOf('ClusterRole', metadata)
      return [{ line: LINES.devices, where, what, todo: 'take out the label, and bind muster-fleet-editor instead' }]
    }),
)

export const rightsChecks = (trustedSubjects: readonly string[]): readonly Check[] => [
  ...RIGHTS.map((right) => rightCheck(right, new Set(trustedSubjects))),
  administratorCheck(new Set(trustedSubjects)),
  providersCheck,
  allUsersCheck,
  fleetEditorsCheck,
]
