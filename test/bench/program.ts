/** The program that ships, bundled: `muster …` as a process whose use of the machine is measured. */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { shippedOnce } from '#hack/build/shipped.ts'
import { type Child, startChild, untilReady } from '#hack/process/child.ts'
import { freePort } from '#hack/process/ports.ts'
import { type DeployedProgram, deployedMemory } from './deployed.ts'
import { moment } from './load/moment.ts'
import { type Usage, usageOf } from './measure/process.ts'
import { shortFolder } from './short-folder.ts'
import type { Stage } from './stage.ts'

export interface MusterProcess extends AsyncDisposable {
  readonly url: string
  /** Milliseconds from its start until it was ready, to 10 ms. */
  readonly readyMs: number
  readonly usage: () => Usage
  /** Waits until it holds. @param timeout milliseconds @throws ProcessError when it ends first, or the time is over */
  until(holds: () => Promise<boolean>, timing: { readonly timeout: number; readonly interval: number }): Promise<void>
}

export interface Start {
  readonly args: readonly string[]
  /** Where it serves; '' when it serves nothing. */
  readonly url: string
  /** Answers 200 when it is ready. */
  readonly probe: string
  /** For its log. */
  readonly folder: string
  /** Whose Deployment says how much memory it may use. */
  readonly deployedAs: DeployedProgram
  readonly env?: NodeJS.ProcessEnv
  /** Stands before the program and becomes it by exec: what puts it into a control group, say. */
  readonly prefix?: readonly string[]
  /** Milliseconds that it may take to be ready; a minute when left out. */
  readonly readyWithin?: number
}

let bundled: Promise<string> | undefined

/** The bundle's entry; made once a run. */
const program = (): Promise<string> => {
  bundled ??= shippedOnce(shortFolder).then(({ folder }) => join(folder, 'muster.mjs'))
  return bundled
}

export const startMuster = async ({
  args,
  url,
  probe,
  folder,
  deployedAs,
  env,
  prefix = [],
  readyWithin: timeout = 60_000,
}: Start): Promise<MusterProcess> => {
  const entry = await program()
  const memory = deployedMemory(deployedAs).env
  // Ours too: a profile is asked for so.
  const options = [process.env.NODE_OPTIONS, memory.NODE_OPTIONS].filter((text) => text !== undefined)
  const [command, ...rest] = [...prefix, process.execPath]
  const startedAt = moment()
  const child: Child = await startChild({
    name: `muster ${args[0]}`,
    command,
    args: [...rest, entry, ...args],
    env: { ...process.env, ...memory, NODE_OPTIONS: options.join(' '), ...env },
    logFile: join(await mkdtemp(join(folder, `${args[0]}-`)), 'log'),
    guarded: true,
  })
  await untilReady(child, () => answers(probe), { timeout, interval: 10 })
  return {
    url,
    readyMs: moment() - startedAt,
    usage: () => usageOf(child.pid),
    until: (holds, timing) => untilReady(child, holds, timing),
    [Symbol.asyncDispose]: async () => {
      await child.stop()
    },
  }
}

const answers = async (url: string): Promise<boolean> => {
  try {
    const { statusCode, body } = await request(url)
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}

export interface ManagerStart extends Pick<Start, 'deployedAs' | 'env' | 'prefix' | 'readyWithin'> {
  /** Names, separated by commas. */
  readonly controllers: string
  /** Beside those of every manager. */
  readonly flags?: readonly string[]
  /** The port of its metrics; none are served when left out. */
  readonly metrics?: number
}

/** A manager of these controllers on a stage's API server, for all namespaces. */
export const startManager = async (
  { folder, kubeconfig }: Pick<Stage, 'folder' | 'kubeconfig'>,
  { controllers, flags = [], metrics, env, ...start }: ManagerStart,
): Promise<MusterProcess> => {
  const probe = await freePort()
  return startMuster({
    args: [
      'manager',
      `--controllers=${controllers}`,
      ...flags,
      `--metrics-bind-address=${metrics === undefined ? 0 : `127.0.0.1:${metrics}`}`,
      `--health-probe-bind-address=127.0.0.1:${probe}`,
      '--log-level=warn',
    ],
    url: '',
    probe: `http://127.0.0.1:${probe}/readyz`,
    folder,
    env: { KUBECONFIG: kubeconfig, ...env },
    ...start,
  })
}

export interface ApiProcess extends MusterProcess {
  readonly metricsUrl: string
}

/** The HyperFleet API on an embedded database in the folder, or on a PostgreSQL. */
export const startApiProcess = async (
  folder: string,
  databaseUrl?: string,
  options: Pick<Start, 'env' | 'prefix'> = {},
): Promise<ApiProcess> => {
  const [port, probe, metrics] = [await freePort(), await freePort(), await freePort()]
  const args = [
    'api',
    `--bind-address=127.0.0.1:${port}`,
    `--health-probe-bind-address=127.0.0.1:${probe}`,
    `--metrics-bind-address=127.0.0.1:${metrics}`,
    databaseUrl === undefined ? `--data-dir=${await mkdtemp(join(folder, 'data-'))}` : `--database-url=${databaseUrl}`,
    '--log-level=warn',
  ]
  const url = `http://127.0.0.1:${port}`
  const running = await startMuster({
    args,
    url,
    probe: `http://127.0.0.1:${probe}/readyz`,
    folder,
    deployedAs: 'api',
    ...options,
  })
  return { ...running, metricsUrl: `http://127.0.0.1:${metrics}` }
}
