/** The accounts of providers in the namespaces of the clusters that they make, and in no others: POOL-84. */

import type { Subject } from '#apis/kubernetes.ts'
import type { Observed } from '../model/observed.ts'
import { compareText } from '../model/order.ts'
import type { Action } from '../model/plan.ts'
import { type ProviderBinding, type ProviderRole, refersTo } from '../model/provider.ts'

/**
 * The writes that bring the bindings up to date, as long as the namespace has a cluster: also one that is being deleted, whose provider cleans
 * up there. None is taken away: they go with their namespace, after all that a provider has made in it.
 */
export const providerBindingActions = ({
  clusters,
  namespaces,
  providerRoles,
}: Pick<Observed, 'clusters' | 'namespaces' | 'providerRoles'>): readonly Action[] => {
  const clustersIn = Map.groupBy(clusters, ({ namespace }) => namespace)
  return namespaces
    .filter(({ terminating }) => !terminating)
    .flatMap(({ name, providerBindings }) =>
      providerRoles
        .filter(({ provider }) => clustersIn.get(name)?.some((cluster) => cluster.provider === provider))
        .map((role) => ({ namespace: name, role, there: providerBindings.find((one) => one.name === role.name) }))
        .filter(({ role, there }) => there === undefined || !isBound(there, role)),
    )
    .toSorted((a, b) => compareText(a.namespace, b.namespace))
    .map((binding) => ({
      action: 'BindProvider',
      ...binding,
      why: `the provider ${binding.role.provider} makes a cluster there`,
    }))
}

const isBound = ({ roleRef, subjects, isLabelled }: ProviderBinding, { name, account }: ProviderRole): boolean => {
  const [subject, ...others] = subjects
  return isLabelled && refersTo(roleRef, name) && others.length === 0 && isSameAccount(subject, account)
}

const isSameAccount = (subject: Subject | undefined, { kind, namespace, name }: Subject): boolean =>
  subject?.kind === kind && subject.namespace === namespace && subject.name === name
