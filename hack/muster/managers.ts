/** The managers of a whole suite: as kustomize/ does it, a process each, with the rights of its own ServiceAccount. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TASK_ACCOUNTS_NAMESPACE, WORK_NAMESPACE } from '#cmd/security/model.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { writeTokenKubeconfig } from '../cluster/kubeconfig.ts'
import { freePort } from '../process/ports.ts'
import { AUDIENCE, clusterToken, hyperfleetToken } from './tokens.ts'

export interface Manager {
  /** What it looks after, for people. Its log is called so. */
  readonly subject: string
  readonly controllers: string
  readonly account: string
  /** In all namespaces, not only in that of the ServiceAccounts. */
  readonly everywhere: boolean
  /** The flag that tells it where its token for the HyperFleet API is; undefined when it does not ask that API. */
  readonly tokenFlag: string | undefined
  /** Others that it is delivered with. */
  readonly flags?: readonly string[]
}

/** The namespace of the ServiceAccounts that adapter tasks act as. */
export const TASK_ACCOUNTS = TASK_ACCOUNTS_NAMESPACE

/** The namespace of what tasks apply that has none of its own. */
export const TASK_WORK = WORK_NAMESPACE

export const SENTINELS: Manager = {
  subject: 'Sentinels',
  controllers: 'sentinel',
  account: 'hyperfleet-sentinel',
  everywhere: false,
  tokenFlag: '--hyperfleet-api-token-file',
}
export const ADAPTERS: Manager = {
  subject: 'adapters',
  controllers: 'adapter',
  account: 'hyperfleet-adapter',
  everywhere: false,
  tokenFlag: '--hyperfleet-api-token-file',
  flags: [`--adapter-token-audience=${AUDIENCE}`, `--adapter-accounts-namespace=${TASK_ACCOUNTS}`],
}
export const POOLS: Manager = {
  subject: 'pools',
  controllers: 'clusterpool,clusterclaim',
  account: 'hyperfleet-clusterpool',
  everywhere: true,
  tokenFlag: undefined,
}
export const CLUSTERS: Manager = {
  subject: 'clusters',
  controllers: 'clusterdeployment',
  account: 'hyperfleet-clusterdeployment',
  everywhere: true,
  tokenFlag: '--hyperfleet-api-token-file',
}
export const CLUSTER_DEVICES: Manager = {
  subject: 'devices',
  controllers: 'clusterdevice',
  account: 'hyperfleet-clusterdevice',
  everywhere: true,
  tokenFlag: undefined,
}
export const FLEET: Manager = {
  subject: 'fleet',
  controllers: 'fleet',
  account: 'fleet-operator',
  everywhere: true,
  tokenFlag: undefined,
}

/** Where a suite lives. */
export interface Home {
  readonly cluster: Cluster
  /** Of the ServiceAccounts. */
  readonly namespace: string
  /** For credentials. */
  readonly scratch: string
}

/** What its process is given. */
export interface ManagerSetting {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Open to every user of this machine. */
  readonly dashboardUrl: string
  /** With its token for the HyperFleet API, where it asks that itself. */
  readonly tokenFile: string
}

/** Makes its credentials. @param more flags of its own */
export const settingOf = async (
  { cluster, namespace, scratch }: Home,
  { controllers, account, everywhere, tokenFlag, flags = [] }: Manager,
  ...more: readonly string[]
): Promise<ManagerSetting> => {
  const kubeconfig = join(scratch, `${account}.kubeconfig`)
  await writeTokenKubeconfig(kubeconfig, cluster.kubeconfig, {
    context: cluster.context,
    token: await clusterToken(cluster, account, namespace),
    namespace,
  })
  const tokenFile = join(scratch, `${account}.token`)
  await writeFile(tokenFile, await hyperfleetToken(cluster, account, namespace), { mode: 0o600 })
  const dashboard = `127.0.0.1:${await freePort()}`
  return {
    args: [
      `--dashboard-bind=${dashboard}`,
      `--controllers=${controllers}`,
      `--kubeconfig=${kubeconfig}`,
      `--namespace=${everywhere ? '' : namespace}`,
      ...(tokenFlag === undefined ? [] : [`${tokenFlag}=${tokenFile}`]),
      ...flags,
      ...more,
    ],
    // As in a pod: Leases that are not of an object's namespace are kept at home.
    env: { POD_NAMESPACE: namespace },
    dashboardUrl: `http://${dashboard}`,
    tokenFile,
  }
}
