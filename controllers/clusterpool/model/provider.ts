/** The rights of providers beside their clusters, and the bindings by which they have them: POOL-84. */

import { PROVIDER_ACCOUNT_ANNOTATION, PROVIDER_ROLE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import type { ClusterRole, RoleBinding, Subject } from '#apis/kubernetes.ts'

/** Rights that a provider's account has beside each of its clusters. */
export interface ProviderRole {
  /** The value of the clusters' label. */
  readonly provider: string
  /** The ClusterRole, and each of its bindings. */
  readonly name: string
  readonly account: Subject
}

/** What a ClusterRole says of the provider that it is for; undefined when it is for none, or does not name an account. */
export const providerRoleOf = ({ metadata }: Pick<ClusterRole, 'metadata'>): ProviderRole | undefined => {
  const provider = metadata.labels?.[PROVIDER_ROLE_LABEL]
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(metadata.annotations?.[PROVIDER_ACCOUNT_ANNOTATION] ?? '') ?? []
  if (provider === undefined || namespace === undefined || name === undefined) return undefined
  return { provider, name: metadata.name, account: { kind: 'ServiceAccount', namespace, name } }
}

/** A binding with the name of such a role. */
export interface ProviderBinding {
  readonly name: string
  readonly uid: string
  readonly roleRef: RoleBinding['roleRef']
  readonly subjects: readonly Subject[]
  /** A pool labels it: of others the subjects are not known. */
  readonly isLabelled: boolean
}

/** A binding of another role can't be made one of this: Kubernetes keeps what a binding refers to. */
export const refersTo = ({ kind, name }: RoleBinding['roleRef'], role: string): boolean =>
  kind === 'ClusterRole' && name === role
