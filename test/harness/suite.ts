/**
 * The whole suite as real processes, as it runs in production: the HyperFleet API on PostgreSQL or SQLite, NATS, a manager for each
 * controller as its own ServiceAccount, and agents. Each can be killed and begins again by itself.
 *
 *   managers ─► proxy (can refuse, lose, cut) ─► kube-apiserver
 *       ├────► HyperFleet API ─► PostgreSQL | SQLite
 *       └────► NATS ◄─ HyperFleet API, agents
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cluster } from '#hack/cluster/cluster.ts'
import { currentContextOf, readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { kubectl } from '#hack/cluster/kubectl.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { DEVELOPER } from '#hack/muster/api.ts'
import { writeSigningKey } from '#hack/muster/signing.ts'
import { hyperfleetToken } from '#hack/muster/tokens.ts'
import type { Nats } from '#hack/nats/nats.ts'
import type { Postgres } from '#hack/postgres/postgres.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { apply, type Manifest, pointedAt, render, resting } from '#hack/up/manifests.ts'
import type { ControlPlane } from './controlplane.ts'
import type { RequestProxy } from './request-proxy.ts'
import { startNats, startPostgres } from './servers.ts'
import {
  type Credentials,
  MANAGERS,
  type ManagerName,
  superviseAgent,
  superviseApi,
  superviseManager,
} from './suite/processes.ts'
import type { Supervised } from './suite/supervised.ts'
import { type TcpProxy, tcpProxy } from './tcp-proxy.ts'

export type { Manifest } from '#hack/up/manifests.ts'
export type { ManagerName } from './suite/processes.ts'
export type { End, Supervised } from './suite/supervised.ts'

export interface SuiteOptions {
  /** Where it runs. It stays when the suite stops. */
  readonly cluster: ControlPlane
  /** Whether kustomize/overlays/dev is applied first, with its workloads at rest; false when it is applied already. */
  readonly applies?: boolean
  /** SQLite when undefined; skip the test with `postgresMissing()` where there is no PostgreSQL. */
  readonly database?: 'postgres' | 'sqlite'
  /** The file with the kinds of the API; that of kustomize/overlays/dev when undefined. */
  readonly kinds?: string
  /** Which managers; all when undefined. */
  readonly managers?: readonly ManagerName[]
  /** Machines, with the labels of their Devices as `--labels` takes them. */
  readonly machines?: Readonly<Record<string, string>>
  /** Machines that reach NATS by a network of their own, and have clocks of their own. */
  readonly region?: readonly string[]
  /** Whether entries for machines are signed, and these take no others; false when undefined. */
  readonly signs?: boolean
}

/** A suite that runs. Stop it, or take it with `await using`. */
export interface Suite extends AsyncDisposable {
  readonly namespace: string
  /** Between the managers and the API server. */
  readonly proxy: RequestProxy
  readonly nats: Nats
  /** Undefined with SQLite. */
  readonly postgres: Postgres | undefined
  /** Of the HyperFleet API. */
  readonly apiUrl: string
  readonly apiMetricsUrl: string
  /** For the HyperFleet API, as a user that may do everything. */
  readonly token: string
  /** Files of each manager. */
  readonly credentials: ReadonlyMap<ManagerName, Credentials>
  /** Of each manager. */
  readonly metricsUrls: ReadonlyMap<ManagerName, string>
  /** From now on the managers' clocks are off by so many milliseconds. */
  skewClocks(milliseconds: number): Promise<void>
  /** Between NATS and the machines of the region; undefined when there is none. */
  readonly network: TcpProxy | undefined
  /** The same of one machine of the region. */
  skewClockOf(machine: string, milliseconds: number): Promise<void>
  /** The folder of all logs. */
  readonly logs: string
  /** By name: api, the managers, the machines. */
  readonly processes: ReadonlyMap<string, Supervised>
  process(name: string): Supervised
  /** What a kustomization of kustomize/ holds. */
  render(folder: string): Promise<readonly Manifest[]>
  /** Applies a kustomization of kustomize/, or manifests; their SentinelConfigs and AdapterTasks talk to the API of this suite. */
  apply(what: string | readonly Manifest[]): Promise<void>
  /** One call of the HyperFleet API; undefined for 404. @param path from the root @throws Error for other refusals */
  call<T>(method: string, path: string, body?: object): Promise<T | undefined>
  stop(): Promise<void>
}

/** As kustomize/base has it. */
const NAMESPACE = 'hyperfleet-system'

const KUSTOMIZE = join(import.meta.dirname, '..', '..', 'kustomize')

/** Starts it and waits until every process works. @throws Error with the last lines of the log of the one that does not */
export const startSuite = async (options: SuiteOptions): Promise<Suite> => {
  const { cluster: plane, applies = true, database = 'sqlite', machines = {}, region = [], signs = false } = options
  const managers = options.managers ?? (Object.keys(MANAGERS) as ManagerName[])
  await using stack = new AsyncDisposableStack()
  const scratch = await temporaryFolder('suite')
  const logs = join(scratch, 'logs')
  await mkdir(logs)

  const admin = await clusterOf(plane, plane.kubeconfig)
  if (applies) await apply(admin, (await render(admin, join(KUSTOMIZE, 'overlays', 'dev'))).map(resting))
  const proxy = stack.use(await plane.proxy())
  const nats = stack.use(await startNats())
  const postgres = database === 'postgres' ? stack.use(await startPostgres()) : undefined
  const data = join(scratch, 'api')
  await mkdir(data)
  const storage = postgres === undefined ? `--data-dir=${data}` : `--database-url=${postgres.url}`

  const processes = new Map<string, Supervised>()
  const add = (name: string, process: Supervised): void => void processes.set(name, stack.use(process))
  const place = {
    cluster: await clusterOf(plane, proxy.kubeconfig),
    namespace: NAMESPACE,
    scratch,
    logs,
    natsUrl: nats.url,
    clockFile: join(scratch, 'clock'),
    signing: signs ? await writeSigningKey(scratch) : undefined,
  }
  const skewClocks = (milliseconds: number) => writeFile(place.clockFile, String(milliseconds))
  await skewClocks(0)
  const { url: apiUrl, metricsUrl: apiMetricsUrl, process: api } = await superviseApi(place, storage, options.kinds)
  add('api', api)
  await api.ready()
  const credentials = new Map<ManagerName, Credentials>()
  const metricsUrls = new Map<ManagerName, string>()
  for (const name of managers) {
    const manager = await superviseManager(place, name, apiUrl)
    add(name, manager.process)
    credentials.set(name, manager.credentials)
    metricsUrls.set(name, manager.metricsUrl)
  }
  const network = region.length === 0 ? undefined : stack.use(await tcpProxy(nats.url))
  const clockOf = (machine: string): string => join(scratch, `clock-${machine}`)
  const skewClockOf = (machine: string, milliseconds: number) => writeFile(clockOf(machine), String(milliseconds))
  for (const [device, labels] of Object.entries(machines)) {
    const isAway = network !== undefined && region.includes(device)
    if (isAway) await skewClockOf(device, 0)
    const where = isAway
      ? { ...place, natsUrl: network.url, clockFile: clockOf(device) }
      : { ...place, clockFile: undefined }
    add(device, await superviseAgent(where, device, labels))
  }
  for (const process of processes.values()) await process.ready()

  const token = await hyperfleetToken(admin, DEVELOPER, NAMESPACE)
  const running = stack.move()
  const stop = () => running.disposeAsync()
  return {
    namespace: NAMESPACE,
    proxy,
    nats,
    postgres,
    apiUrl,
    apiMetricsUrl,
    token,
    credentials,
    metricsUrls,
    skewClocks,
    network,
    skewClockOf,
    logs,
    processes,
    process: (name) => {
      const found = processes.get(name)
      if (found === undefined) throw new Error(`There is no process ${name}, only ${[...processes.keys()].join(', ')}`)
      return found
    },
    render: (folder) => render(admin, join(KUSTOMIZE, folder)),
    apply: async (what) => {
      const manifests = typeof what === 'string' ? await render(admin, join(KUSTOMIZE, what)) : what
      await apply(admin, manifests.map(pointedAt(apiUrl)))
    },
    call: (method, path, body) => callApi(`${apiUrl}${path}`, method, token, body),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** A cluster of a test as what hack/ works with: kubectl goes to the API server itself, a holder of the kubeconfig goes its way. */
const clusterOf = async (plane: ControlPlane, kubeconfig: string): Promise<Cluster> => ({
  kubeconfig,
  context: currentContextOf(await readKubeconfig(kubeconfig)) ?? '',
  kubectl: kubectl(join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl'), [
    `--kubeconfig=${plane.kubeconfig}`,
  ]),
  ours: false,
  stop: async () => undefined,
})

const callApi = async <T>(url: string, method: string, token: string, body?: object): Promise<T | undefined> => {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.status === 404) return undefined
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as T
}
