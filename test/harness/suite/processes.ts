/** What the processes of a suite are given: each manager as its own ServiceAccount, all of them by the same API and NATS. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SHIPPED_PROGRAM } from '#hack/build/shipped.ts'
import { readKubeconfig, writeKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { apiArgs } from '#hack/muster/api.ts'
import {
  ADAPTERS,
  CLUSTER_DEVICES,
  CLUSTERS,
  FLEET,
  type Home,
  type Manager,
  POOLS,
  SENTINELS,
  settingOf,
} from '#hack/muster/managers.ts'
import { agentProgram, saysReady, servedProgram } from '#hack/muster/program.ts'
import type { SigningFiles } from '#hack/muster/signing.ts'
import type { Program } from '#hack/process/child.ts'
import { freePort } from '#hack/process/ports.ts'
import { SKEW_FILE_VARIABLE } from '../skew.ts'
import { type Supervised, supervise } from './supervised.ts'

export const MANAGERS = {
  sentinels: SENTINELS,
  adapters: ADAPTERS,
  pools: POOLS,
  clusters: CLUSTERS,
  devices: CLUSTER_DEVICES,
  fleet: FLEET,
} as const satisfies Readonly<Record<string, Manager>>

export type ManagerName = keyof typeof MANAGERS

/** Where the processes of one suite find each other. */
export interface SuitePlace extends Home {
  /** Where logs go. */
  readonly logs: string
  readonly natsUrl: string
  /** What signs entries for machines, and what these know it by. */
  readonly signing: SigningFiles | undefined
  /** How many milliseconds the managers' clocks are off. */
  readonly clockFile: string
}

/** What a manager reads again and again, so that it can be exchanged while it runs. */
export interface Credentials {
  /** For the API server, as kubelet projects it. */
  readonly token: string
  /** The certificates that it trusts the API server by. */
  readonly authority: string
  /** For the HyperFleet API. */
  readonly apiToken: string
}

/** The same credentials in files of their own, as a pod has them. */
const asInPod = async (kubeconfig: string): Promise<Pick<Credentials, 'token' | 'authority'>> => {
  const config = await readKubeconfig(kubeconfig)
  const [token, authority] = [`${kubeconfig}.token`, `${kubeconfig}.crt`]
  const { server, 'certificate-authority-data': certificate = '' } = config.clusters[0]?.cluster ?? { server: '' }
  await writeFile(authority, Buffer.from(certificate, 'base64'))
  await writeFile(token, String(config.users[0]?.user.token), { mode: 0o600 })
  await writeKubeconfig(kubeconfig, {
    ...config,
    clusters: config.clusters.map(({ name }) => ({ name, cluster: { server, 'certificate-authority': authority } })),
    users: config.users.map(({ name }) => ({
      name,
      user: { 'auth-provider': { name: 'tokenFile', config: { tokenFile: token } } },
    })),
  })
  return { token, authority }
}

const CLOCK = join(import.meta.dirname, '..', 'skewed-clock.ts')

/** The environment of a process whose clock is off by what the file says. */
const withClock = (file: string): NodeJS.ProcessEnv => ({
  NODE_OPTIONS: `${NODE_OPTIONS ?? ''} --import=${CLOCK}`,
  [SKEW_FILE_VARIABLE]: file,
})

/** A test's own environment must not reach what it tests, except for what global.ts gives to all processes. */
const { PATH, HOME, NODE_COMPILE_CACHE, NODE_OPTIONS } = process.env
const ENVIRONMENT = { PATH, HOME, NODE_COMPILE_CACHE, NODE_OPTIONS }

/** The same from the bundle of the run, where there is one: it starts in half the time. */
const bundled = (program: Program): Program => {
  const bundle = process.env[SHIPPED_PROGRAM]
  if (bundle === undefined) return program
  return { ...program, args: program.args.map((arg) => (arg.endsWith('/cmd/muster.ts') ? bundle : arg)) }
}

/** @param storage the flag that says where its database is @param kinds a file */
export const superviseApi = async (
  place: SuitePlace,
  storage: string,
  kinds?: string,
): Promise<{ readonly url: string; readonly metricsUrl: string; readonly process: Supervised }> => {
  const { logs: folder, natsUrl } = place
  const port = await freePort()
  const args = await apiArgs(place, { port, storage, natsUrl, kinds })
  const program = await servedProgram({ name: 'api', log: 'api', args, folder, env: ENVIRONMENT })
  const process = await supervise(bundled(program), () => saysReady(program.probe))
  return { url: `http://127.0.0.1:${port}`, metricsUrl: program.metricsUrl, process }
}

export const superviseManager = async (
  place: SuitePlace,
  name: ManagerName,
  apiUrl: string,
): Promise<{ readonly credentials: Credentials; readonly metricsUrl: string; readonly process: Supervised }> => {
  const { logs: folder, scratch, natsUrl, signing, clockFile } = place
  const more: Readonly<Record<ManagerName, readonly string[]>> = {
    sentinels: [`--hyperfleet-api-url=${apiUrl}`],
    adapters: [`--hyperfleet-api-url=${apiUrl}`],
    pools: [],
    clusters: [`--hyperfleet-api-url=${apiUrl}`],
    devices: [`--nats-url=${natsUrl}`, `--cluster-device-state-dir=${join(scratch, 'cluster-devices')}`],
    fleet: [
      `--nats-url=${natsUrl}`,
      '--device-labels=*',
      ...(signing === undefined ? [] : [`--fleet-signing-keys=${signing.signingKeys}`]),
    ],
  }
  const { args, env, tokenFile } = await settingOf(place, MANAGERS[name], ...more[name])
  const quiet = [...args.filter((arg) => !arg.startsWith('--dashboard-bind')), '--dashboard-bind=']
  const credentials = { apiToken: tokenFile, ...(await asInPod(join(scratch, `${MANAGERS[name].account}.kubeconfig`))) }
  const own = { ...ENVIRONMENT, ...env, ...withClock(clockFile) }
  const program = await servedProgram({ name: 'manager', log: name, args: quiet, folder, env: own })
  const process = await supervise(bundled(program), () => saysReady(program.probe))
  return { credentials, metricsUrl: program.metricsUrl, process }
}

/** A machine. Its programs end with it. Its clock is right without a file. @param labels as `--labels` takes them */
export const superviseAgent = async (
  {
    logs: folder,
    scratch,
    natsUrl,
    signing,
    clockFile,
  }: Pick<SuitePlace, 'logs' | 'scratch' | 'natsUrl' | 'signing'> & {
    readonly clockFile: string | undefined
  },
  device: string,
  labels: string,
): Promise<Supervised> => {
  const state = join(scratch, 'agents', device)
  const args = [
    `--nats-url=${natsUrl}`,
    `--labels=${labels}`,
    `--state-dir=${state}`,
    '--program-user=self',
    '--stop-workloads',
    ...(signing === undefined ? [] : [`--fleet-public-keys=${signing.publicKeys}`]),
  ]
  const env = { ...ENVIRONMENT, ...(clockFile !== undefined && withClock(clockFile)) }
  return supervise(bundled(agentProgram(device, { args, folder, env })), async () => true)
}
