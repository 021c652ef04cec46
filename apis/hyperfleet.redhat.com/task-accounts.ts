/** Which accounts are those of adapter tasks, as the API and its flags are told. API-104. */
import { isNamespaceName } from '#operator/model/namespace.ts'

/** A namespace of Kubernetes whose ServiceAccounts are those of adapter tasks. */
export interface TaskAccounts {
  readonly accounts: string
  /** Of the tasks. */
  readonly tasks: string
}

/** `NAMESPACE`, or `ACCOUNTS=TASKS` where the tasks are in another one. @throws Error that says what to write */
export const parseTaskAccounts = (text: string): TaskAccounts => {
  const [accounts = '', tasks = accounts, ...more] = text.split('=')
  if (more.length > 0 || ![accounts, tasks].every(isNamespaceName))
    throw new Error(
      `${JSON.stringify(text)} is no namespace: write NAMESPACE, or ACCOUNTS=TASKS where the tasks are in another one`,
    )
  return { accounts, tasks }
}
