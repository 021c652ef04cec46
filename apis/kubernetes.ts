/** Kubernetes' own kinds, as far as more than one controller reads or writes them. They are never installed or generated here. */
import { defineResource, type KubeObject, type Resource } from '#operator/model/resource.ts'

export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: string }
}

export const Namespace: Resource<Namespace> = defineResource<unknown, { readonly phase?: string }>({
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  scope: 'Cluster',
  subresources: ['status'],
})

/** On a Namespace: what it asks of its pods, `restricted`, `baseline` or `privileged`. Kubernetes: Pod Security Standards. */
export const POD_SECURITY_LABEL = 'pod-security.kubernetes.io/enforce'

export interface Secret extends KubeObject<undefined> {
  readonly type?: string
  /** base64. */
  readonly data?: Readonly<Record<string, string>>
  /** As text; written only, and more than `data` when both name a key. */
  readonly stringData?: Readonly<Record<string, string>>
}

export const Secret: Resource<Secret> = defineResource<undefined>({
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  scope: 'Namespaced',
  subresources: [],
})

export interface ConfigMap extends KubeObject<undefined> {
  readonly data?: Readonly<Record<string, string>>
}

export const ConfigMap: Resource<ConfigMap> = defineResource<undefined>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  scope: 'Namespaced',
  subresources: [],
})

/** Kubernetes: rbac Subject. */
export interface Subject {
  readonly kind: string
  readonly name: string
  readonly apiGroup?: string
  readonly namespace?: string
}

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1', scope: 'Namespaced', subresources: [] } as const

export interface Role extends KubeObject<undefined> {
  readonly rules?: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly resourceNames?: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

export const Role: Resource<Role> = defineResource<undefined>({ ...RBAC, plural: 'roles', kind: 'Role' })

export interface ClusterRole extends KubeObject<undefined> {
  readonly rules?: Role['rules']
}

export const ClusterRole: Resource<ClusterRole> = defineResource<undefined>({
  ...RBAC,
  scope: 'Cluster',
  plural: 'clusterroles',
  kind: 'ClusterRole',
})

export interface RoleBinding extends KubeObject<undefined> {
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string }
  readonly subjects?: readonly Subject[]
}

export const RoleBinding = defineResource<undefined>({
  ...RBAC,
  plural: 'rolebindings',
  kind: 'RoleBinding',
}) as Resource<RoleBinding>

/** Kubernetes: networking NetworkPolicyPeer. */
export interface NetworkPolicyPeer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
  readonly podSelector?: object
  readonly namespaceSelector?: object
}

/** Kubernetes: networking NetworkPolicyIngressRule and NetworkPolicyEgressRule. */
export interface NetworkPolicyRule {
  readonly from?: readonly NetworkPolicyPeer[]
  readonly to?: readonly NetworkPolicyPeer[]
  readonly ports?: readonly { readonly port?: string | number; readonly protocol?: string }[]
}

export interface NetworkPolicySpec {
  readonly podSelector: { readonly matchLabels?: object; readonly matchExpressions?: readonly object[] }
  readonly policyTypes?: readonly string[]
  readonly ingress?: readonly NetworkPolicyRule[]
  readonly egress?: readonly NetworkPolicyRule[]
}

export type NetworkPolicy = KubeObject<NetworkPolicySpec>

export const NetworkPolicy: Resource<NetworkPolicy> = defineResource<NetworkPolicySpec>({
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
  kind: 'NetworkPolicy',
  scope: 'Namespaced',
  subresources: [],
})
