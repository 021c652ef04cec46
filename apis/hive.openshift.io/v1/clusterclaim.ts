/** ClusterClaim: a cluster of a pool for a person or program, for a while. Fields as Hive's. */
import Type, { type Static } from 'typebox'
import { span } from '#apis/schema/duration.ts'
import type { CustomKind } from '#apis/schema/kind.ts'
import { rules } from '#apis/schema/rule.ts'
import { count, standardStatus } from '#apis/schema/status.ts'
import { defineResource, type KubeObject } from '#operator/model/resource.ts'

const subject = () =>
  Type.Object(
    {
      kind: Type.Enum(['User', 'Group', 'ServiceAccount'], { description: 'Kind of the subject.' }),
      name: Type.String({ description: 'Its name.', minLength: 1, maxLength: 253 }),
      apiGroup: Type.Optional(
        Type.String({
          description: 'rbac.authorization.k8s.io for users and groups, empty for ServiceAccounts.',
          maxLength: 253,
        }),
      ),
      namespace: Type.Optional(Type.String({ description: 'Of a ServiceAccount.', maxLength: 63 })),
    },
    {
      description: 'A user, group or ServiceAccount that may use the cluster. Kubernetes: rbac Subject.',
      ...rules({
        rule: "(self.kind == 'ServiceAccount') == has(self.namespace)",
        message: 'namespace must be given for a ServiceAccount, and only for one',
      }),
    },
  )

const spec = () =>
  Type.Object(
    {
      clusterPoolName: Type.String({
        description: 'The pool, in the namespace of the claim.',
        minLength: 1,
        maxLength: 253,
        ...rules({ rule: 'self == oldSelf', message: 'clusterPoolName can’t be changed: make another claim' }),
      }),
      subjects: Type.Optional(
        Type.Array(subject(), {
          description: 'Users, groups and ServiceAccounts that may use the cluster while it is claimed.',
          maxItems: 64,
          'x-kubernetes-list-type': 'atomic',
        }),
      ),
      namespace: Type.Optional(
        Type.String({
          description: 'The namespace of the claimed cluster; written by the controller.',
          maxLength: 63,
          ...rules({ rule: 'self == oldSelf', message: 'namespace can’t be changed once a cluster is claimed' }),
        }),
      ),
      lifetime: Type.Optional(
        span({ description: 'After how long the claim is deleted; the pool may have a default and a maximum.' }),
      ),
    },
    // That no claim is made with a namespace is a policy: it depends on the user, and on a label (kustomize/base/policies).
    { description: 'Declared state of the claim.' },
  )

const status = () =>
  Type.Object(
    {
      ...standardStatus({ isProbed: true }),
      lifetime: Type.Optional(Type.String({ description: 'The lifetime that holds, pool limits included.' })),
      apiURL: Type.Optional(
        Type.String({
          description: 'The URL of the claimed cluster’s API server; `muster claim kubeconfig` prints how to reach it.',
        }),
      ),
      queuePosition: count({
        description: 'How many claims of the pool are before this one, plus one; 0 once assigned.',
      }),
    },
    { description: 'Observed state of the claim.' },
  )

export type ClusterClaimSpec = Static<ReturnType<typeof spec>>
export type ClusterClaimStatus = Static<ReturnType<typeof status>>
export type ClusterClaim = KubeObject<ClusterClaimSpec, ClusterClaimStatus>

/** The handle by which controllers and clients name this kind. */
export const ClusterClaim = defineResource<ClusterClaimSpec, ClusterClaimStatus>({
  group: 'hive.openshift.io',
  version: 'v1',
  plural: 'clusterclaims',
  kind: 'ClusterClaim',
  scope: 'Namespaced',
  subresources: ['status'],
})

/** Everything that is generated from this file. */
export const clusterClaimKind = (): CustomKind => ({
  resource: ClusterClaim,
  description: 'A ClusterClaim takes a running cluster out of a pool for as long as the claim lives.',
  shortNames: ['cc'],
  spec: spec(),
  status: status(),
  columns: [
    { name: 'Pool', type: 'string', path: '.spec.clusterPoolName', description: 'The pool.' },
    {
      name: 'Pending',
      type: 'string',
      path: '.status.conditions[?(@.type=="Pending")].reason',
      description: 'Whether it still waits, and for what.',
    },
    { name: 'Queue', type: 'integer', path: '.status.queuePosition', description: 'Its place among those that wait.' },
    { name: 'ClusterNamespace', type: 'string', path: '.spec.namespace', description: 'Where the cluster is.' },
    {
      name: 'ClusterRunning',
      type: 'string',
      path: '.status.conditions[?(@.type=="ClusterRunning")].reason',
      description: 'Whether the cluster runs.',
    },
    { name: 'API', type: 'string', path: '.status.apiURL', description: 'The URL of the cluster’s API server.' },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: ['.spec.clusterPoolName'],
})
