/** Connects the runs of a task to everything that they talk to. */
import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { guardedLookup } from '#lib/egress/guarded-lookup.ts'
import { impersonating, serviceAccountUser } from '#operator/client/impersonation.ts'
import type { RestMapper } from '#operator/client/rest-mapper.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import type { Access } from '../access.ts'
import type { Account, AccountTokens } from '../http/account-tokens.ts'
import type { ApiTime } from '../http/api-time.ts'
import type { BearerToken } from '../http/bearer-token.ts'
import { HttpClient } from '../http/client.ts'
import { openHttpConnection } from '../http/connection.ts'
import type { Task } from '../task/task.ts'
import { MAX_RESPONSE_CHARS } from '../transports/http.ts'
import { type ApiConnectionOptions, connectApi, inventoriesOf } from './connect.ts'
import { namingMissingAccount } from './missing-account.ts'
import type { TaskRunnerOptions } from './task-runner.ts'

export interface ConnectionDeps {
  /** Of this program, for `User-Agent`. */
  readonly version: string
  readonly access: Access
  /** Of the ServiceAccounts that tasks act as; that of each task when undefined. ADAPTER-51. */
  readonly accountsNamespace: string | undefined
  /** Undefined when tasks show no tokens of their own. */
  readonly accountTokens: AccountTokens | undefined
  /** What the API server serves. It asks with the daemon's lease, and so ends with it. */
  kinds(context: DaemonContext<AdapterTask>): RestMapper
}

export interface TaskConnections {
  readonly runner: Omit<TaskRunnerOptions, 'selector' | 'retention'>
  close(): Promise<void>
}

export const userAgentOf = (name: string, version: string): string => `muster-adapter/${version} (${name})`

/** The ServiceAccount that a task acts as. */
export const accountOf = (
  { spec, namespace = 'default' }: DaemonContext<AdapterTask>,
  { accountsNamespace = namespace }: Pick<ConnectionDeps, 'accountsNamespace'>,
): Account => ({ namespace: accountsNamespace, name: spec.serviceAccountName })

/** The API server in the name of the task's ServiceAccount. */
export const impersonatedApi = (
  context: DaemonContext<AdapterTask>,
  deps: Pick<ConnectionDeps, 'accountsNamespace'>,
): { readonly transport: Transport } => {
  const account = accountOf(context, deps)
  const { transport } = context.api
  const asAccount = impersonating(transport, serviceAccountUser(account.namespace, account.name))
  return { transport: namingMissingAccount(asAccount, transport, account) }
}

/** By which the HyperFleet API knows the task. */
export const accountTokenOf = (
  context: DaemonContext<AdapterTask>,
  deps: Pick<ConnectionDeps, 'accountsNamespace' | 'accountTokens'>,
): BearerToken | undefined => deps.accountTokens?.of(context.api.transport, accountOf(context, deps))

/**
 * To be closed. @param time told what the HyperFleet API says of it; its clock is that of the runs
 * @param onOutcome told how each request to the HyperFleet API ended
 */
export const connectTask = (
  context: DaemonContext<AdapterTask>,
  deps: ConnectionDeps,
  task: Task,
  time: ApiTime,
  onOutcome?: ApiConnectionOptions['onOutcome'],
): TaskConnections => {
  const { version, access, kinds } = deps
  const { spec, object, api, name, clock, log } = context
  const userAgent = userAgentOf(name, version)
  const { connection, caller, timeoutMs } = connectApi(spec, {
    access,
    accountToken: accountTokenOf(context, deps),
    userAgent,
    clock,
    time,
    onOutcome,
  })
  const external = openHttpConnection({ userAgent, maxResponseChars: MAX_RESPONSE_CHARS, lookup: guardedLookup })
  return {
    runner: {
      task,
      inventories: inventoriesOf(object, api.transport, clock),
      apiClient: caller,
      externalClient: new HttpClient({ roundTrip: external.roundTrip, clock, timeoutMs }),
      transport: impersonatedApi(context, deps).transport,
      kinds: kinds(context),
      access,
      config: {
        adapter: { name: task.adapter.name, version: task.adapter.version },
        clients: { hyperfleet_api: { base_url: spec.hyperfleetAPI.url, version: 'v1' } },
      },
      clock,
      runClock: time.clock,
      log: log.child({ adapter: task.adapter.name }),
    },
    close: async () => {
      await Promise.all([connection.close(), external.close()])
    },
  }
}
