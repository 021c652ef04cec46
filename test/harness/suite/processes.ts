/** What the processes of a suite are given: each manager as its own ServiceAccount, all of them by the same API and NATS. */
import { join } from 'node:path'
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
import type { Program } from '#hack/process/child.ts'
import { freePort } from '#hack/process/ports.ts'
import { BUNDLED_PROGRAM } from '../muster.ts'
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
}

/** A test's own environment must not reach what it tests, except for what global.ts gives to all processes. */
const { PATH, HOME, NODE_COMPILE_CACHE, NODE_OPTIONS } = process.env
const ENVIRONMENT = { PATH, HOME, NODE_COMPILE_CACHE, NODE_OPTIONS }

/** The same from the bundle of the run, where there is one: it starts in half the time. */
const bundled = (program: Program): Program => {
  const bundle = process.env[BUNDLED_PROGRAM]
  if (bundle === undefined) return program
  return { ...program, args: program.args.map((arg) => (arg.endsWith('/cmd/muster.ts') ? bundle : arg)) }
}

/** @param storage the flag that says where its database is */
export const superviseApi = async (
  place: SuitePlace,
  storage: string,
): Promise<{ readonly url: string; readonly metricsUrl: string; readonly process: Supervised }> => {
  const { logs: folder, natsUrl } = place
  const port = await freePort()
  const args = await apiArgs(place, { port, storage, natsUrl })
  const program = await servedProgram({ name: 'api', log: 'api', args, folder, env: ENVIRONMENT })
  const process = await supervise(bundled(program), () => saysReady(program.probe))
  return { url: `http://127.0.0.1:${port}`, metricsUrl: program.metricsUrl, process }
}

export const superviseManager = async (
  place: SuitePlace,
  name: ManagerName,
  apiUrl: string,
): Promise<{ readonly tokenFile: string; readonly process: Supervised }> => {
  const { logs: folder, scratch, natsUrl } = place
  const more: Readonly<Record<ManagerName, readonly string[]>> = {
    sentinels: [`--hyperfleet-api-url=${apiUrl}`],
    adapters: [`--hyperfleet-api-url=${apiUrl}`],
    pools: [],
    clusters: [`--hyperfleet-api-url=${apiUrl}`],
    devices: [`--nats-url=${natsUrl}`, `--cluster-device-state-dir=${join(scratch, 'cluster-devices')}`],
    fleet: [`--nats-url=${natsUrl}`],
  }
  const { args, env, tokenFile } = await settingOf(place, MANAGERS[name], ...more[name])
  const quiet = [...args.filter((arg) => !arg.startsWith('--dashboard-bind')), '--dashboard-bind=']
  const own = { ...ENVIRONMENT, ...env }
  const program = await servedProgram({ name: 'manager', log: name, args: quiet, folder, env: own })
  return { tokenFile, process: await supervise(bundled(program), () => saysReady(program.probe)) }
}

/** A machine. Its programs end with it. @param labels as `--labels` takes them */
export const superviseAgent = async (
  { logs: folder, scratch, natsUrl }: SuitePlace,
  device: string,
  labels: string,
): Promise<Supervised> => {
  const state = join(scratch, 'agents', device)
  const args = [`--nats-url=${natsUrl}`, `--labels=${labels}`, `--state-dir=${state}`, '--stop-workloads']
  return supervise(bundled(agentProgram(device, { args, folder, env: ENVIRONMENT })), async () => true)
}
