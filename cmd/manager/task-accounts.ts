/**
 * Whether `--adapter-accounts-namespace` can be meant. The admission policies ask for the right to act as an account of tasks: for tasks of Muster's
 * namespace in one place, for all others in the namespace of the task. A manager that takes accounts from elsewhere has tasks act as accounts
 * that their authors may not act as. ADAPTER-130. Pure.
 */
import { UsageError } from '../failure.ts'
import { ADMIN_NAMESPACE, NAMESPACE, TASK_ACCOUNTS_NAMESPACE } from '../security/model.ts'
import type { ManagerOptions } from './command.ts'

const FLAG = '--adapter-accounts-namespace'

/** Where accounts of Muster are, and of Kubernetes. */
const isOfOthers = (namespace: string): boolean =>
  namespace === NAMESPACE || namespace === ADMIN_NAMESPACE || namespace.startsWith('kube-')

/** @throws UsageError */
export const checkTaskAccounts = ({
  controllers,
  namespace,
  adapterAccountsNamespace: accounts,
}: Pick<ManagerOptions, 'controllers' | 'namespace' | 'adapterAccountsNamespace'>): void => {
  if (accounts === undefined || !controllers.includes('adapter')) return
  if (isOfOthers(accounts))
    throw new UsageError(
      `${FLAG}: ${accounts} has accounts that no task may act as: write ${TASK_ACCOUNTS_NAMESPACE}, or leave it out for accounts of the tasks' own namespace`,
    )
  if (namespace !== NAMESPACE)
    throw new UsageError(
      `${FLAG}: only tasks of ${NAMESPACE} have accounts elsewhere, and this manager watches ${namespace ?? 'all namespaces'}: leave it out, or watch --namespace=${NAMESPACE}`,
    )
}
