/** ServiceAccounts of Kubernetes as the identities of adapter tasks: each acts for the adapter of its own name (API-104). */
import { consumerGroup } from '#apis/hyperfleet.redhat.com/consumer-group.ts'
import type { TaskAccounts } from '#apis/hyperfleet.redhat.com/task-accounts.ts'
import type { BoundNames } from './bound-names.ts'

/** What a token of a ServiceAccount has as `sub`. Kubernetes: service accounts, usernames. */
const ACCOUNT = /^system:serviceaccount:([^:]+):([^:*]+)$/

/**
 * The names that a task's account may act for: the adapter of the account's name, and the group of the task of that name.
 * @param namespaces whose accounts are those of tasks
 * @returns undefined when it is no such account
 */
export const namesOfTaskAccount = (sub: unknown, namespaces: readonly TaskAccounts[]): BoundNames | undefined => {
  const [, namespace, name] = (typeof sub === 'string' && ACCOUNT.exec(sub)) || []
  const of = namespaces.filter(({ accounts }) => accounts === namespace)
  if (name === undefined || of.length === 0) return undefined
  return { adapters: [name], consumers: of.map(({ tasks }) => consumerGroup(tasks, name)) }
}
