import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { ConfigMap, Namespace, NetworkPolicy, Role, RoleBinding, Subject } from '#apis/kubernetes.ts'
import type { KubeObject } from '#operator/model/resource.ts'
import type { Line } from './lines.ts'

/** Where Muster is: its policies name it, so it is no choice. */
export const NAMESPACE = 'hyperfleet-system'

/** Where the accounts are that adapter tasks act as: policies name it, too. */
export const TASK_ACCOUNTS_NAMESPACE = 'hyperfleet-tasks'

/** Where tasks make pods of what has no namespace of its own. */
export const WORK_NAMESPACE = 'hyperfleet-work'

/** Where the account of the API's administrator is, with components/api-admin. */
export const ADMIN_NAMESPACE = 'hyperfleet-admin'

/** Kubernetes: rbac PolicyRule. */
export interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

export interface ClusterRole extends KubeObject<undefined> {
  readonly rules?: readonly Rule[] | null
}

export interface ClusterRoleBinding extends KubeObject<undefined> {
  readonly roleRef: RoleBinding['roleRef']
  readonly subjects?: readonly Subject[]
}

/** Kubernetes: admissionregistration MatchResources, as far as defaults touch it. */
export interface MatchResources {
  readonly resourceRules?: readonly object[]
}

export interface PolicySpec {
  readonly matchConstraints?: MatchResources
}

export interface BindingSpec {
  readonly policyName?: string
  readonly validationActions?: readonly string[]
  readonly matchResources?: MatchResources
  readonly paramRef?: object
}

export interface Container {
  readonly name: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean
    readonly privileged?: boolean
    readonly readOnlyRootFilesystem?: boolean
    readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] }
  }
}

export interface PodSpec {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly hostNetwork?: boolean
  readonly hostPID?: boolean
  readonly hostIPC?: boolean
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean
    readonly runAsUser?: number
    readonly seccompProfile?: { readonly type?: string }
  }
  readonly volumes?: readonly {
    readonly name: string
    readonly hostPath?: object
    readonly configMap?: { readonly name?: string }
  }[]
}

export interface WorkloadSpec {
  readonly template: { readonly spec: PodSpec }
}

export interface ProjectSpec {
  readonly destinations?: readonly { readonly namespace?: string }[]
  readonly clusterResourceWhitelist?: readonly GroupKind[]
  readonly namespaceResourceWhitelist?: readonly GroupKind[]
}

export interface GroupKind {
  readonly group: string
  readonly kind: string
}

/** What is read of a cluster: Muster's namespace and those that pools made; of namespaced kinds that Kubernetes has, what is in Muster's namespace; rights also in the administrator's and in that of tasks' accounts, network policies everywhere. */
export interface Objects {
  readonly Namespace: readonly Namespace[]
  readonly ValidatingAdmissionPolicy: readonly KubeObject<PolicySpec>[]
  readonly ValidatingAdmissionPolicyBinding: readonly KubeObject<BindingSpec>[]
  readonly NetworkPolicy: readonly NetworkPolicy[]
  readonly Deployment: readonly KubeObject<WorkloadSpec>[]
  readonly StatefulSet: readonly KubeObject<WorkloadSpec>[]
  readonly DaemonSet: readonly KubeObject<WorkloadSpec>[]
  readonly ConfigMap: readonly ConfigMap[]
  readonly ClusterRole: readonly ClusterRole[]
  readonly ClusterRoleBinding: readonly ClusterRoleBinding[]
  readonly Role: readonly Role[]
  readonly RoleBinding: readonly RoleBinding[]
  readonly AppProject: readonly KubeObject<ProjectSpec>[]
  readonly ClusterClaim: readonly ClusterClaim[]
  readonly ClusterPool: readonly ClusterPool[]
  readonly ClusterDeployment: readonly ClusterDeployment[]
  readonly Device: readonly Device[]
  readonly AdapterTask: readonly AdapterTask[]
  readonly SentinelConfig: readonly SentinelConfig[]
}

export type KindName = keyof Objects

/** Why a kind could not be read: the API server's sentence. */
export interface Unread {
  readonly unread: string
}

export type Observed = { readonly [K in KindName]: Objects[K] | Unread }

/** Something that one line of the table does not hold by. */
export interface Finding {
  /** Of the check that found it. */
  readonly check: string
  readonly line: Line
  /** Kind and name. */
  readonly where: string
  readonly what: string
  readonly todo: string
}

/** A look at some kinds of objects. */
export interface Check {
  readonly id: string
  readonly reads: readonly KindName[]
  /** Pure. Reads no other kinds. */
  readonly find: (objects: Objects, shipped: Shipped) => readonly Omit<Finding, 'check'>[]
}

/** A part of an install, as this release ships it. */
export interface Part {
  /** A folder of kustomize/. */
  readonly folder: string
  /** Every kind is there, mostly empty. */
  readonly objects: Objects
}

/** The first part is the base, which every install has; the others may be there. */
export type Shipped = readonly [Part, ...Part[]]

/** Declares a check whose decision can use no kinds but those that it reads. */
export const defineCheck = <K extends KindName>(
  id: string,
  reads: readonly K[],
  find: (objects: Pick<Objects, K>, shipped: Shipped) => readonly Omit<Finding, 'check'>[],
): Check => ({ id, reads, find })

/** Those of all objects of an install's parts that are of one kind. */
export const shippedOf = <K extends KindName>(parts: readonly Part[], kind: K): readonly Objects[K][number][] =>
  parts.flatMap(({ objects }) => objects[kind] as readonly Objects[K][number][])

/** Whether an object is in a namespace: manifests leave Muster's own to their kustomization. */
export const isIn =
  (place: string) =>
  ({ metadata: { namespace = NAMESPACE } }: { readonly metadata: { readonly namespace?: string } }): boolean =>
    namespace === place

/** Whether a pool made a namespace for a cluster, which is still there: one that is being deleted takes no pod any more. */
export const isOfCluster = ({ metadata: { labels = {}, deletionTimestamp } }: Namespace): boolean =>
  POOL_LABELS.uid in labels && deletionTimestamp === undefined

/** A name of ours in messages: `Role hyperfleet-system/x`. */
export const nameOf = (kind: string, { namespace, name }: { readonly namespace?: string; readonly name: string }) =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
