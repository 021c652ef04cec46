import { ADMIN_NAMESPACE, NAMESPACE, TASK_ACCOUNTS_NAMESPACE } from '#cmd/security/model.ts'
import type { Edit, Mutation } from './mutation.ts'

const RBAC = 'rbac.authorization.k8s.io'
const MALLORY = { kind: 'User', name: 'mallory', apiGroup: RBAC }

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** A role with one rule, in Muster's namespace unless another one is named. */
const role = (rule: Rule, namespace = NAMESPACE): Edit => ({
  kind: 'Role',
  create: { metadata: { name: 'weak', namespace }, rules: [rule] },
})

const bind = (
  ref: { kind: 'Role' | 'ClusterRole'; name: string },
  subject: object = MALLORY,
  namespace = NAMESPACE,
): Edit => ({
  kind: 'RoleBinding',
  create: {
    metadata: { name: 'weak', namespace },
    roleRef: { apiGroup: RBAC, ...ref },
    subjects: [subject],
  },
})

const given = (rule: Rule, subject?: object, namespace?: string): readonly Edit[] => [
  role(rule, namespace),
  bind({ kind: 'Role', name: 'weak' }, subject, namespace),
]

const clusterBind = (name: string, subject: object): Edit => ({
  kind: 'ClusterRoleBinding',
  create: { metadata: { name: 'weak' }, roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name }, subjects: [subject] },
})

const CORE = { apiGroups: [''] }

/** Beside the clusters of a provider, for an account of tasks that no policy holds. */
const providerRole = (name: string, rule: Rule): Edit => ({
  kind: 'ClusterRole',
  create: {
    metadata: {
      name,
      labels: { 'muster.dev/provider': 'weak' },
      annotations: { 'muster.dev/provider-account': `${TASK_ACCOUNTS_NAMESPACE}/weak` },
    },
    rules: [rule],
  },
})

export const RIGHTS_MUTATIONS: readonly Mutation[] = [
  {
    title: 'a provider of which pools hand out more than it needs',
    reports: ['rights-providers'],
    edits: [
      providerRole('weak', { ...CORE, resources: ['*'], verbs: ['*'] }),
      {
        kind: 'ClusterRole',
        create: {
          metadata: { name: 'weak-bind' },
          rules: [{ apiGroups: [RBAC], resources: ['clusterroles'], resourceNames: ['weak'], verbs: ['bind'] }],
        },
      },
      clusterBind('weak-bind', { kind: 'ServiceAccount', name: 'hyperfleet-clusterpool', namespace: NAMESPACE }),
    ],
  },
  {
    title: 'a provider of which pools hand out what they have themselves, without the verb bind',
    reports: ['rights-providers'],
    edits: [providerRole('weak', { ...CORE, resources: ['secrets'], verbs: ['list'] })],
  },
  {
    title: 'the rights of a provider that comes with Muster, for another account',
    reports: ['rights-providers'],
    edits: [providerRole('muster-cluster-local-beside', { ...CORE, resources: ['secrets'], verbs: ['get'] })],
  },
  {
    title: 'a person who may impersonate accounts',
    reports: ['rights-impersonate'],
    edits: given({ ...CORE, resources: ['serviceaccounts'], verbs: ['impersonate'] }),
  },
  {
    title: 'a person who may have tokens of one account made',
    reports: ['rights-impersonate'],
    edits: given({
      ...CORE,
      resources: ['serviceaccounts/token'],
      resourceNames: ['hyperfleet-clusterpool'],
      verbs: ['create'],
    }),
  },
  {
    title: 'a person who may have tokens of tasks’ accounts made',
    reports: ['rights-impersonate'],
    edits: given(
      { ...CORE, resources: ['serviceaccounts/token'], verbs: ['create'] },
      MALLORY,
      TASK_ACCOUNTS_NAMESPACE,
    ),
  },
  {
    title: 'a person who may make accounts for tasks',
    reports: ['rights-accounts'],
    edits: given({ ...CORE, resources: ['serviceaccounts'], verbs: ['create'] }, MALLORY, TASK_ACCOUNTS_NAMESPACE),
  },
  {
    title: 'an account of a task that may make pods beside it',
    reports: ['rights-pods'],
    edits: given(
      { ...CORE, resources: ['pods'], verbs: ['create'] },
      { kind: 'ServiceAccount', name: 'task', namespace: TASK_ACCOUNTS_NAMESPACE },
      TASK_ACCOUNTS_NAMESPACE,
    ),
  },
  {
    title: 'a person who may make Jobs',
    reports: ['rights-pods'],
    edits: given({ apiGroups: ['batch'], resources: ['*'], verbs: ['create'] }),
  },
  {
    title: 'a person who may run programs in pods',
    reports: ['rights-pods'],
    edits: given({ ...CORE, resources: ['pods/exec'], verbs: ['create'] }),
  },
  {
    title: 'a person who may read one Secret',
    reports: ['rights-secrets'],
    edits: given({ ...CORE, resources: ['secrets'], resourceNames: ['nats-authority'], verbs: ['get'] }),
  },
  {
    title: 'an account of Muster with one verb more than it is shipped with',
    reports: ['rights-secrets'],
    edits: given(
      { ...CORE, resources: ['secrets'], verbs: ['list'] },
      { kind: 'ServiceAccount', name: 'hyperfleet-nats', namespace: NAMESPACE },
    ),
  },
  {
    title: 'a person who may declare keys of devices',
    reports: ['rights-configuration'],
    edits: given({ ...CORE, resources: ['configmaps'], verbs: ['patch'] }),
  },
  {
    title: 'a person who may make accounts',
    reports: ['rights-accounts'],
    edits: given({ ...CORE, resources: ['serviceaccounts'], verbs: ['create'] }),
  },
  {
    title: 'a person who may bind roles that they do not have',
    reports: ['rights-roles'],
    edits: given({ apiGroups: [RBAC], resources: ['roles'], verbs: ['bind'] }),
  },
  {
    title: 'pools that may hand out a role which is no provider’s',
    reports: ['rights-roles'],
    edits: given(
      { apiGroups: [RBAC], resources: ['clusterroles'], resourceNames: ['cluster-admin'], verbs: ['bind'] },
      { kind: 'ServiceAccount', name: 'hyperfleet-clusterpool', namespace: NAMESPACE },
    ),
  },
  {
    title: 'the account of a provider that may read any Secret by its name, as releases before had it',
    reports: ['rights-secrets'],
    edits: [
      {
        kind: 'ClusterRole',
        create: { metadata: { name: 'everywhere' }, rules: [{ ...CORE, resources: ['secrets'], verbs: ['get'] }] },
      },
      clusterBind('everywhere', {
        kind: 'ServiceAccount',
        name: 'cluster-local',
        namespace: TASK_ACCOUNTS_NAMESPACE,
      }),
    ],
  },
  {
    title: 'a person who may write network policies',
    reports: ['rights-defences'],
    edits: given({ apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['*'] }),
  },
  {
    title: 'a person who may say of which pool a cluster is, in every namespace',
    reports: ['rights-assignment'],
    edits: [clusterBind('muster-restorer', MALLORY)],
  },
  {
    title: 'an editor of the namespace',
    reports: [
      'rights-impersonate',
      'rights-pods',
      'rights-secrets',
      'rights-configuration',
      'rights-accounts',
      'rights-defences',
    ],
    edits: [bind({ kind: 'ClusterRole', name: 'edit' })],
  },
  {
    title: 'a person on call whom no administrator has named',
    reports: ['rights-administrator'],
    edits: given(
      { ...CORE, resources: ['serviceaccounts/token'], resourceNames: ['hyperfleet-admin'], verbs: ['create'] },
      MALLORY,
      ADMIN_NAMESPACE,
    ),
  },
  {
    title: 'an editor of the namespace of the API’s administrator',
    reports: ['rights-administrator'],
    edits: [bind({ kind: 'ClusterRole', name: 'edit' }, MALLORY, ADMIN_NAMESPACE)],
  },
  {
    title: 'Muster’s kinds for everybody to see',
    reports: ['rights-all-users'],
    edits: [clusterBind('muster-viewer', { kind: 'Group', name: 'system:authenticated', apiGroup: RBAC })],
  },
  {
    title: 'programs on devices for whoever may edit a namespace',
    reports: ['rights-fleet'],
    edits: [
      {
        kind: 'ClusterRole',
        name: 'muster-fleet-editor',
        change: (object) => ({
          ...object,
          metadata: { ...object.metadata, labels: { [`${RBAC}/aggregate-to-edit`]: 'true' } },
        }),
      },
    ],
  },
]
