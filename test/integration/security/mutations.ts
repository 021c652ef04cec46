/** Ways in which an install is weakened, each of which `muster security check` has to report. */
import { API_MUTATIONS } from './api-mutations.ts'
import { FLAG_MUTATIONS } from './flag-mutations.ts'
import { type Any, inContainer, type Mutation } from './mutation.ts'
import { OPEN_TRAFFIC_MUTATIONS } from './open-traffic-mutations.ts'
import { POLICY_MUTATIONS } from './policy-mutations.ts'
import { POOL_MUTATIONS } from './pool-mutations.ts'
import { RIGHTS_MUTATIONS } from './rights-mutations.ts'
import { TRAFFIC_MUTATIONS } from './traffic-mutations.ts'

const NAMESPACE = 'hyperfleet-system'
const RBAC = 'rbac.authorization.k8s.io'

const OBJECTS: readonly Mutation[] = [
  {
    title: 'a claim for everybody, older than the policy',
    reports: ['claim-subjects'],
    before: [{ kind: 'ValidatingAdmissionPolicyBinding', name: 'muster-claim-subjects', change: 'delete' }],
    edits: [
      {
        kind: 'ClusterClaim',
        create: {
          metadata: { name: 'weak', namespace: 'default' },
          spec: {
            clusterPoolName: 'edge',
            subjects: [{ kind: 'Group', name: 'system:serviceaccounts', apiGroup: RBAC }],
          },
        },
      },
    ],
  },
]

const DEVICES: readonly Mutation[] = [
  {
    title: 'a device that takes entries without a signature',
    reports: ['device-entries'],
    edits: [
      {
        kind: 'Device',
        create: {
          metadata: { name: 'weak' },
          spec: {},
          status: {
            conditions: [
              {
                type: 'EntriesVerified',
                status: 'False',
                reason: 'NoPublicKeys',
                message: 'its agent takes every entry',
                lastTransitionTime: '2026-01-01T00:00:00Z',
              },
            ],
          },
        },
      },
    ],
  },
  {
    title: 'a device that signs nothing of what it says',
    reports: ['device-infos'],
    edits: [
      {
        kind: 'Device',
        create: {
          metadata: { name: 'unsigned' },
          spec: {},
          status: {
            conditions: [
              {
                type: 'InfoVerified',
                status: 'False',
                reason: 'NotSigned',
                message: 'its agent signs nothing',
                lastTransitionTime: '2026-01-01T00:00:00Z',
              },
            ],
          },
        },
      },
    ],
  },
  {
    title: 'a fleet operator that asks for no signatures of devices',
    reports: ['info-keys'],
    edits: [
      inContainer('Deployment', 'fleet-operator', (container) => ({
        ...container,
        args: container.args.filter((arg: string) => !arg.startsWith('--fleet-device-keys')),
      })),
    ],
  },
  {
    title: 'a fleet operator that signs nothing',
    reports: ['entry-signing'],
    edits: [
      inContainer('Deployment', 'fleet-operator', (container) => ({
        ...container,
        args: container.args.filter((arg: string) => !arg.startsWith('--fleet-signing-keys')),
      })),
    ],
  },
]

const WORKLOADS: readonly Mutation[] = [
  {
    title: 'a namespace that takes any pod',
    reports: ['namespace'],
    edits: [
      {
        kind: 'Namespace',
        name: NAMESPACE,
        change: (object) => {
          const labels = { ...object.metadata.labels, 'pod-security.kubernetes.io/enforce': 'baseline' }
          return { ...object, metadata: { ...object.metadata, labels } }
        },
      },
    ],
  },
  {
    title: 'a namespace of a cluster that takes any pod',
    reports: ['cluster-namespaces'],
    edits: [
      {
        kind: 'Namespace',
        create: { metadata: { name: 'weak', labels: { 'hive.openshift.io/clusterpool-uid': 'of-a-pool' } } },
      },
      {
        kind: 'NetworkPolicy',
        create: {
          metadata: { name: 'closed', namespace: 'weak' },
          spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
        },
      },
    ],
  },
  {
    title: 'a container that may write its files',
    reports: ['pods'],
    edits: [
      inContainer('Deployment', 'hyperfleet-adapter', (container) => ({
        ...container,
        securityContext: { ...container.securityContext, readOnlyRootFilesystem: false },
      })),
    ],
  },
  {
    title: 'an API that asks for no token',
    reports: ['api-authentication'],
    edits: [
      inContainer('Deployment', 'hyperfleet-api', (container) => ({
        ...container,
        args: container.args.filter((arg: string) => arg !== '--auth-kubernetes'),
      })),
    ],
  },
  {
    title: 'an API where every token has a role',
    reports: ['api-default-roles'],
    edits: [
      inContainer('Deployment', 'hyperfleet-api', (container) => ({
        ...container,
        env: [...container.env, { name: 'MUSTER_AUTH_DEFAULT_ROLES', value: 'admin' }],
      })),
    ],
  },
  {
    title: 'an administrator of the API of whom every editor has tokens',
    reports: ['api-administrators'],
    edits: [
      inContainer('Deployment', 'hyperfleet-api', (container) => ({
        ...container,
        env: container.env.map((each: { name: string; value?: string }) =>
          each.name === 'MUSTER_AUTH_ROLES'
            ? { ...each, value: `${each.value},system:serviceaccount:hyperfleet-system:hyperfleet-admin=reader+admin` }
            : each,
        ),
      })),
    ],
  },
  {
    title: 'an API that speaks to NATS without TLS',
    reports: ['nats-clients'],
    edits: [
      inContainer('Deployment', 'hyperfleet-api', (container) => ({
        ...container,
        args: container.args
          .filter((arg: string) => !arg.startsWith('--nats-'))
          .concat('--nats-url=nats://nats.hyperfleet-system.svc:4222'),
      })),
    ],
  },
  {
    title: 'tasks that share the token of their manager',
    reports: ['task-identity'],
    edits: [
      inContainer('Deployment', 'hyperfleet-adapter', (container) => ({
        ...container,
        args: container.args.filter((arg: string) => !arg.startsWith('--adapter-token-audience')),
      })),
    ],
  },
  ...['', '--adapter-accounts-namespace=hyperfleet-system', '--adapter-accounts-namespace=elsewhere'].map((flag) => ({
    title: `tasks that act as accounts of another namespace than the policies ask for, ${flag || 'as without the flag'}`,
    reports: ['task-accounts'],
    edits: [
      inContainer('Deployment', 'hyperfleet-adapter', (container) => ({
        ...container,
        args: [...container.args.filter((arg: string) => !arg.startsWith('--adapter-accounts-namespace')), flag].filter(
          Boolean,
        ),
      })),
    ],
  })),
  {
    title: 'every account of Muster’s namespace as an adapter',
    reports: ['api-task-accounts'],
    edits: [
      inContainer('Deployment', 'hyperfleet-api', (container) => ({
        ...container,
        env: [
          ...container.env.filter(({ name }: Any) => name !== 'MUSTER_AUTH_TASK_ACCOUNTS'),
          { name: 'MUSTER_AUTH_TASK_ACCOUNTS', value: 'hyperfleet-tasks, hyperfleet-system' },
        ],
      })),
    ],
  },
  {
    title: 'tasks that may read tokens',
    reports: ['task-files'],
    edits: [
      inContainer('Deployment', 'hyperfleet-adapter', (container) => ({
        ...container,
        args: [...container.args, '--adapter-files=/data,/var/run'],
      })),
    ],
  },
  {
    title: 'NATS without users',
    reports: ['nats-users'],
    edits: [
      {
        kind: 'StatefulSet',
        name: 'nats',
        change: (object) => {
          const changed = structuredClone(object)
          delete changed.spec.template.spec.initContainers
          return changed
        },
      },
    ],
  },
]

const PROJECTS: readonly Mutation[] = [
  {
    title: 'a project whose committers may make every kind',
    reports: ['argocd-projects'],
    edits: [
      {
        kind: 'AppProject',
        name: 'muster-declared',
        change: (object) => ({
          ...object,
          spec: { ...object.spec, namespaceResourceWhitelist: [{ group: '*', kind: '*' }] },
        }),
      },
    ],
  },
  {
    title: 'a project whose committers may write where Argo CD is',
    reports: ['argocd-projects'],
    edits: [
      {
        kind: 'AppProject',
        name: 'muster-tasks',
        change: (object) => ({
          ...object,
          spec: { ...object.spec, destinations: [...object.spec.destinations, { server: '*', namespace: 'argo*' }] },
        }),
      },
    ],
  },
]

export const MUTATIONS: readonly Mutation[] = [
  ...POLICY_MUTATIONS,
  ...RIGHTS_MUTATIONS,
  ...OBJECTS,
  ...POOL_MUTATIONS,
  ...DEVICES,
  ...WORKLOADS,
  ...API_MUTATIONS,
  ...FLAG_MUTATIONS,
  ...OPEN_TRAFFIC_MUTATIONS,
  ...TRAFFIC_MUTATIONS,
  ...PROJECTS,
]
