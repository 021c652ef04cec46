import { providerRoleOf } from '#controllers/clusterpool/model/provider.ts'
import { LINES, type Line } from '../lines.ts'
import {
  ADMIN_NAMESPACE,
  type Check,
  type ClusterRole,
  defineCheck,
  NAMESPACE,
  nameOf,
  type Part,
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
  ROLES,
  TOKENS,
  textOf,
  WRITE,
} from './grants.ts'
import { providersCheck } from './provider-rights.ts'

/** Rights in Muster's namespace that break a line for whom they are given to, but for the accounts of the install. */
interface Right {
  readonly id: string
  readonly line: Line
  readonly accesses: readonly Access[]
}

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
