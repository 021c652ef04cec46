/** The objects of a new cluster, in the order in which they are made: the ClusterDeployment last, for by it a cluster exists. */

import { printInstallConfig } from '#apis/hive.openshift.io/model/install-config.ts'
import { ClusterDeployment, type ClusterDeploymentSpec } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import {
  CUSTOMIZATION_VERSION_ANNOTATION,
  LEASE_FINALIZER,
  POOL_LABELS,
  PROVIDER_ROLE_LABEL,
  VERSION_ANNOTATION,
} from '#apis/hive.openshift.io/v1/labels.ts'
import { POD_SECURITY_LABEL, RoleBinding, type Secret } from '#apis/kubernetes.ts'
import { apiVersionOf } from '#operator/model/resource.ts'
import { ADMIN_BINDING, CLUSTER_ADMIN_ROLE } from '../decide/admin-bindings.ts'
import type { Action, AdminBinding } from '../model/plan.ts'
import type { PodSecurityLevel } from '../model/pod-security.ts'
import type { ProviderRole } from '../model/provider.ts'
import { installConfigSecretName } from './render.ts'

type Creation = Extract<Action, { readonly action: 'CreateCluster' }>

/** The namespace of a cluster: it is found again by the uid of its pool. What a provider runs there is held to the level. POOL-87. */
export const namespaceManifest = (pool: ClusterPool, { cluster }: Creation, level: PodSecurityLevel) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: cluster.namespace, labels: { ...labelsOf(pool), [POD_SECURITY_LABEL]: level } },
})

/** The install-config of a cluster, as its ClusterDeployment refers to it. */
export const installConfigManifest = (pool: ClusterPool, { cluster, documents }: Creation) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: installConfigSecretName(cluster.name), namespace: cluster.namespace, labels: labelsOf(pool) },
  stringData: { 'install-config.yaml': printInstallConfig(documents.installConfig) },
})

/** A Secret that the pool refers to, beside the cluster that refers to it too. */
export const copiedSecretManifest = (pool: ClusterPool, { cluster }: Creation, { metadata, type, data }: Secret) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: metadata.name, namespace: cluster.namespace, labels: labelsOf(pool) },
  ...(type !== undefined && { type }),
  ...(data !== undefined && { data }),
})

/** Lets the admins of the pool into the namespace of a cluster. */
export const adminBindingManifest = (pool: ClusterPool, { namespace, subjects }: AdminBinding) => ({
  apiVersion: apiVersionOf(RoleBinding),
  kind: RoleBinding.kind,
  metadata: { name: ADMIN_BINDING, namespace, labels: labelsOf(pool) },
  roleRef: { apiGroup: RoleBinding.group, kind: 'ClusterRole', name: CLUSTER_ADMIN_ROLE },
  subjects,
})

/** Lets the account of a provider into the namespace of a cluster that it makes. */
export const providerBindingManifest = (
  pool: ClusterPool,
  namespace: string,
  { provider, name, account }: ProviderRole,
) => ({
  apiVersion: apiVersionOf(RoleBinding),
  kind: RoleBinding.kind,
  metadata: { name, namespace, labels: { ...labelsOf(pool), [PROVIDER_ROLE_LABEL]: provider } },
  roleRef: { apiGroup: RoleBinding.group, kind: 'ClusterRole', name },
  subjects: [account],
})

/** The cluster itself, with the pool's labels and annotations and the marks by which the pool knows it again. */
export const deploymentManifest = (
  pool: ClusterPool,
  { cluster, customization, documents, poolVersion }: Creation,
) => ({
  apiVersion: apiVersionOf(ClusterDeployment),
  kind: ClusterDeployment.kind,
  metadata: {
    ...cluster,
    labels: { ...pool.spec.labels, ...labelsOf(pool) },
    annotations: {
      ...pool.spec.annotations,
      [VERSION_ANNOTATION]: poolVersion,
      ...(customization !== undefined && { [CUSTOMIZATION_VERSION_ANNOTATION]: customization.version }),
    },
    ...(customization !== undefined && { finalizers: [LEASE_FINALIZER] }),
  },
  spec: documents.spec satisfies ClusterDeploymentSpec,
})

/** A label's value has at most so many characters; a pool's name may have more. Kubernetes: labels and selectors. */
export const MAX_LABEL_CHARS = 63

/** What tells of any object which pool made it: providers leave it alone (CLUSTER-78). */
export const labelsOf = ({
  metadata: { name, namespace = '', uid },
}: ClusterPool): Readonly<Record<string, string>> => ({
  [POOL_LABELS.namespace]: namespace,
  [POOL_LABELS.uid]: uid,
  ...(name.length <= MAX_LABEL_CHARS && { [POOL_LABELS.name]: name }),
})
