/** The admins of a pool in the namespaces of its clusters: POOL-37. */

import type { Subject } from '#apis/kubernetes.ts'
import type { Observed, PoolNamespace } from '../model/observed.ts'
import { compareText } from '../model/order.ts'
import type { Action, AdminBinding } from '../model/plan.ts'

/** A user with this ClusterRole in the namespace of a pool administers the clusters of all pools there. Names as Hive's. */
export const ADMIN_ROLE = 'hive-cluster-pool-admin'
/** What pools give such a user beside their clusters: Secrets are read there, and not beside the pool. */
export const CLUSTER_ADMIN_ROLE = 'hive-cluster-pool-cluster-admin'
/** What the pool writes into the namespaces of its clusters. */
export const ADMIN_BINDING = 'hive-cluster-pool-admin-binding'

type AdminNamespace = Pick<PoolNamespace, 'name' | 'terminating' | 'admins' | 'adminRole'>

/** Each subject once, in one order: bindings that say the same compare equal. */
export const uniqueSubjects = (subjects: readonly Subject[]): readonly Subject[] =>
  [...new Map(subjects.map((subject) => [keyOf(subject), subject])).entries()]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([, subject]) => subject)

/** The bindings that are not as they should be. The set is exact: the last admin that goes takes the binding along, and so does one of another role. */
export const findOutdatedBindings = (
  admins: readonly Subject[],
  namespaces: readonly AdminNamespace[],
): readonly AdminBinding[] => {
  const subjects = uniqueSubjects(admins)
  return namespaces
    .filter(
      ({ terminating, admins: there = [], adminRole }) =>
        !terminating && (isOther(adminRole) || !sameSubjects(there, subjects)),
    )
    .map(({ name, adminRole }) => ({
      namespace: name,
      subjects,
      ...(isOther(adminRole) && { isOfOtherRole: true }),
    }))
    .toSorted((a, b) => compareText(a.namespace, b.namespace))
}

const isOther = (role: string | undefined): boolean => role !== undefined && role !== CLUSTER_ADMIN_ROLE

const sameSubjects = (there: readonly Subject[], desired: readonly Subject[]): boolean => {
  const written = uniqueSubjects(there)
  return (
    written.length === desired.length && written.every((subject, index) => keyOf(subject) === keyOf(desired[index]))
  )
}

const keyOf = (subject: Subject | undefined): string =>
  JSON.stringify([subject?.kind, subject?.apiGroup ?? '', subject?.namespace ?? '', subject?.name])

/** The writes that bring the bindings up to date. */
export const adminBindingActions = ({ admins, namespaces }: Observed): readonly Action[] =>
  findOutdatedBindings(admins, namespaces).map((binding) => ({
    action: 'BindAdmins',
    ...binding,
    why:
      binding.subjects.length === 0
        ? 'the pool has no admins any more'
        : binding.isOfOtherRole
          ? 'admins of a pool have another role beside its clusters'
          : 'the admins of the pool are others',
  }))
