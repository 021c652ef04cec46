import type { ControllerName } from '#cmd/manager/catalogue.ts'

/** How the rights of a controller are given to it. What they are comes from its recording. */
export interface Grant {
  /** The ServiceAccount that its pods run as. */
  readonly account: string
  /** The ServiceAccount that tests run it as, alone: whatever that one calls, this controller has called. */
  readonly testAccount: string
  /** Name of its Role or ClusterRole. */
  readonly role: string
  /** Role: in one namespace. ClusterRole: in all of them. */
  readonly kind: 'Role' | 'ClusterRole'
  /** Resources that are needed in its own namespace only, although the rest is needed everywhere. */
  readonly atHome?: readonly string[]
  /** The permissions hold in all namespaces, whichever one is watched. */
  readonly everywhere?: boolean
  /** What the file begins with. */
  readonly about: string
  /** Why a resource is called, where that can't be guessed. Key: the resource as in the recording. */
  readonly why: Readonly<Record<string, string>>
  /** Rights that no test may be relied on to use, each with its reason. */
  readonly rare: readonly RareRight[]
  /** What is called only with an option, and the component that grants it then. Key: the resource as in the recording. */
  readonly optional?: Readonly<Record<string, string>>
  /** The tests that are recorded, as vitest takes them. */
  readonly tests: readonly string[]
}

/** A right that a controller must have although its tests may not show it. */
export interface RareRight {
  readonly group: string
  readonly resource: string
  readonly verbs: readonly string[]
  readonly name?: string
  readonly reason: string
}

/** Kubernetes' own ClusterRole for servers that ask who a caller is; the components that open such a server bind it. */
const ASKING_ABOUT_CALLERS = {
  tokenreviews: 'system:auth-delegator',
  subjectaccessreviews: 'system:auth-delegator',
} as const

/** Only with --leader-elect. */
const STANDBY_RIGHTS = { leases: 'kustomize/components/ha/rbac.yaml' } as const

const EVENTS = { events: 'What is done, and why, is also an event of the object; a repeated one is counted up.' }

/** Our runtime reads an object anew when its write has lost (409): operator/engine/send-patch.ts. Tests rarely meet that. */
const readAnew = (group: string, resource: string): RareRight => ({
  group,
  resource,
  verbs: ['get'],
  reason: 'Read anew when a write of it has lost against another one (409).',
})

/** Every controller's grant, in the order of the catalogue. */
export const grants: Readonly<Record<ControllerName, Grant>> = {
  sentinel: {
    account: 'hyperfleet-sentinel',
    testAccount: 'hyperfleet-sentinel',
    role: 'hyperfleet-sentinel',
    kind: 'Role',
    about: 'Seed: sentinel, ServiceAccount and RBAC.',
    why: {
      'sentinelconfigs/status': 'What the Sentinel sees is reported in the status.',
      leases:
        'One Lease a SentinelConfig: a second replica stands by, and never are there two pulses for one decision.',
      ...EVENTS,
    },
    rare: [
      {
        group: 'hyperfleet.redhat.com',
        resource: 'sentinelconfigs/status',
        verbs: ['get'],
        reason: 'The seed grants it; a Sentinel reads its status with the whole object.',
      },
    ],
    optional: {
      ...ASKING_ABOUT_CALLERS,
      secrets: 'kustomize/components/deny-overlap/rbac.yaml',
      validatingwebhookconfigurations: 'kustomize/components/deny-overlap/rbac.yaml',
    },
    tests: ['test/integration/sentinel', 'test/integration/cmd/deny-overlap'],
  },
  adapter: {
    account: 'hyperfleet-adapter',
    testAccount: 'hyperfleet-adapter',
    role: 'hyperfleet-adapter',
    kind: 'Role',
    about: 'To work on adapter tasks. What a task applies, it applies in the name of its own ServiceAccount.',
    why: {
      leases: 'One Lease an AdapterTask: a second replica stands by.',
      events: 'Runs that fail and recover are events of the task.',
      serviceaccounts: 'A task may do what its ServiceAccount may. Only those of this namespace.',
    },
    rare: [readAnew('hyperfleet.redhat.com', 'adaptertasks')],
    optional: {
      ...ASKING_ABOUT_CALLERS,
      secrets: 'kustomize/components/webhook/rbac.yaml',
      validatingwebhookconfigurations: 'kustomize/components/webhook/rbac.yaml',
    },
    tests: ['test/integration/adapter', 'test/integration/cmd/deny-invalid-tasks'],
  },
  clusterpool: {
    account: 'hyperfleet-clusterpool',
    testAccount: 'hyperfleet-clusterpool',
    role: 'hyperfleet-clusterpool',
    kind: 'ClusterRole',
    everywhere: true,
    about: 'To keep pools. Each cluster has a namespace of its own, made for it: hence everywhere.',
    why: {
      clusterdeploymentcustomizations: 'The finalizer of a lease; the lease itself is status.',
      secrets:
        'Templates and credentials are read beside the pool; install-configs and copies are written beside the cluster.',
      rolebindings: 'Admins of pools are let into the namespaces of their clusters.',
      ...EVENTS,
    },
    rare: [
      {
        group: 'hive.openshift.io',
        resource: 'clusterclaims',
        verbs: ['get'],
        reason: 'Asked for before a cluster is taken from a claim that the cache does not show.',
      },
      {
        group: 'rbac.authorization.k8s.io',
        resource: 'clusterroles',
        verbs: ['bind'],
        name: 'hive-cluster-pool-admin',
        reason: 'No call of its own: nobody can hand out a role that he does not have, unless he may bind it.',
      },
    ],
    optional: STANDBY_RIGHTS,
    tests: ['test/integration/clusterpool', 'test/integration/delivery/stand-by'],
  },
  clusterclaim: {
    account: 'hyperfleet-clusterpool',
    testAccount: 'hyperfleet-clusterclaim',
    role: 'hyperfleet-clusterclaim',
    kind: 'ClusterRole',
    everywhere: true,
    about: 'To keep claims, in the process that keeps pools and as its ServiceAccount.',
    why: {
      clusterclaims: 'A claim is deleted when its lifetime is over.',
      roles: 'Subjects of claims are let into the namespaces of their clusters.',
      ...EVENTS,
    },
    rare: [
      readAnew('hive.openshift.io', 'clusterclaims'),
      {
        group: '',
        resource: 'secrets',
        verbs: ['get'],
        reason: 'No call of its own: nobody can grant what he may not do, and subjects of claims read their Secrets.',
      },
    ],
    tests: ['test/integration/clusterpool'],
  },
  clusterdeployment: {
    account: 'hyperfleet-clusterdeployment',
    testAccount: 'hyperfleet-clusterdeployment',
    role: 'hyperfleet-clusterdeployment',
    kind: 'ClusterRole',
    about: 'To have ClusterDeployments made by the HyperFleet API, in whatever namespaces they are.',
    why: {
      clusterdeploymentcustomizations: 'A cluster is registered only while its customization is leased to it.',
      secrets:
        'Install-configs are Secrets, each in the namespace of its cluster. They are read one by one, never listed.',
      ...EVENTS,
    },
    rare: [],
    optional: { ...ASKING_ABOUT_CALLERS, ...STANDBY_RIGHTS },
    tests: ['test/integration/clusterdeployment', 'test/integration/delivery/stand-by'],
  },
  clusterdevice: {
    account: 'hyperfleet-clusterdevice',
    testAccount: 'hyperfleet-clusterdevice',
    role: 'muster-clusterdevice',
    kind: 'ClusterRole',
    everywhere: true,
    about:
      'For clusters that are devices of the fleet: docs/fleet-agent.md. In a cluster itself its admin kubeconfig says what may be done.',
    why: {
      clusterdeployments: 'The finalizer stays until the fleet has forgotten the cluster.',
      secrets: 'Admin kubeconfigs, by the names that ClusterDeployments give.',
    },
    rare: [readAnew('hive.openshift.io', 'clusterdeployments')],
    tests: ['test/integration/clusterdevice'],
  },
  fleet: {
    account: 'fleet-operator',
    testAccount: 'fleet-operator',
    role: 'muster-fleet-operator',
    kind: 'ClusterRole',
    atHome: ['leases'],
    about:
      'For the fleet operator. Devices belong to no namespace, and Deployments live where their owners do: hence everywhere. Only its Lease is kept at home.',
    why: {
      deployments: 'The finalizer stays until the keys of a Deployment are gone.',
      'deployments/status': 'Written whole, and only while nobody else has written it.',
      devices: 'Devices are made from what agents tell.',
      controllerrevisions: 'The revisions of Deployments, to go back to.',
      leases: 'One replica leads: it writes status, advances rollouts and collects orphans.',
      events: 'The steps of a rollout are events of its Deployment.',
    },
    rare: [
      {
        group: 'fleet.nationtech.io',
        resource: 'deployments',
        verbs: ['get'],
        reason: 'Asked for before keys that seem to be orphans are deleted, and read anew when a write has lost (409).',
      },
      {
        group: 'fleet.nationtech.io',
        resource: 'devices',
        verbs: ['get'],
        reason: 'Asked for before keys that seem to be orphans are deleted.',
      },
      {
        group: 'apps',
        resource: 'controllerrevisions',
        verbs: ['get', 'delete'],
        reason: 'Looked at when another operator has stored the revision first; deleted when the history is too long.',
      },
    ],
    optional: ASKING_ABOUT_CALLERS,
    tests: ['test/integration/fleet', 'test/integration/dashboard/fleet-operator'],
  },
}
