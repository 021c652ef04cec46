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
}: Pick<Observed, 'clusters' | 'namespaces' | 'providerRoles'>): readonly Action[] =>
  namespaces
    .filter(({ terminating }) => !terminating)
    .toSorted((a, b) => compareText(a.name, b.name))
    .flatMap(({ name, providerBindings }) => {
      const present = new Set(clusters.filter(({ namespace }) => namespace === name).map(({ provider }) => provider))
      return providerRoles
        .filter(({ provider }) => present.has(provider))
        .flatMap((role): readonly Action[] => {
          const there = providerBindings.find((binding) => binding.name === role.name)
          if (there !== undefined && isBound(there, role)) return []
          const why = `the provider ${role.provider} makes a cluster there`
          return [{ action: 'BindProvider', namespace: name, role, there, why }]
        })
    })

const isBound = ({ roleRef, subjects, isLabelled }: ProviderBinding, { name, account }: ProviderRole): boolean => {
  const [subject, ...others] = subjects
  return isLabelled && refersTo(roleRef, name) && others.length === 0 && isSameAccount(subject, account)
}

const isSameAccount = (subject: Subject | undefined, { kind, namespace, name }: Subject): boolean =>
  subject?.kind === kind && subject.namespace === namespace && subject.name === name
