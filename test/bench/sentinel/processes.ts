/** The real program, bundled as it ships: `muster api` and `muster manager --controllers=sentinel`. */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { bundle } from '#hack/build/bundle.ts'
import { type Child, startChild, untilReady } from '#hack/process/child.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { NODE_FLAGS } from '../contestants/muster.ts'
import { moment } from '../load/moment.ts'
import { type Usage, usageOf } from '../measure/process.ts'
import type { Stage } from '../stage.ts'

export interface MusterProcess extends AsyncDisposable {
  readonly url: string
  /** Milliseconds from its start until it was ready, to 10 ms. */
  readonly readyMs: number
  readonly usage: () => Usage
}

let bundled: Promise<string> | undefined

/** The bundle's entry; made once a run. */
const program = (): Promise<string> => {
  bundled ??= temporaryFolder('bench-dist').then(async (folder) => {
    await bundle(join(folder, 'dist'))
    return join(folder, 'dist', 'muster.mjs')
  })
  return bundled
}

const start = async (args: readonly string[], stage: Stage, url: string, probe: string): Promise<MusterProcess> => {
  const entry = await program()
  const startedAt = moment()
  const child: Child = await startChild({
    name: `muster ${args[0]}`,
    command: process.execPath,
    args: [...NODE_FLAGS, entry, ...args],
    // As kustomize/sentinel/deployment.yaml has it.
    env: { ...process.env, KUBECONFIG: stage.kubeconfig, MALLOC_ARENA_MAX: '2' },
    logFile: join(await mkdtemp(join(stage.folder, `${args[0]}-`)), 'log'),
    guarded: true,
  })
  await untilReady(child, () => answers(probe), { interval: 10 })
  return {
    url,
    readyMs: moment() - startedAt,
    usage: () => usageOf(child.pid),
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

/** The HyperFleet API on an empty embedded database. */
export const startApi = async (stage: Stage): Promise<MusterProcess> => {
  const [port, probe] = [await freePort(), await freePort()]
  const dataDir = await mkdtemp(join(stage.folder, 'data-'))
  const args = [
    'api',
    `--bind-address=127.0.0.1:${port}`,
    `--health-probe-bind-address=127.0.0.1:${probe}`,
    '--metrics-bind-address=0',
    `--data-dir=${dataDir}`,
    '--log-level=warn',
  ]
  return start(args, stage, `http://127.0.0.1:${port}`, `http://127.0.0.1:${probe}/readyz`)
}

/** A manager that runs the Sentinel alone, for all namespaces. */
export const startSentinel = async (stage: Stage): Promise<MusterProcess> => {
  const probe = await freePort()
  const args = [
    'manager',
    '--controllers=sentinel',
    '--metrics-bind-address=0',
    `--health-probe-bind-address=127.0.0.1:${probe}`,
    '--log-level=warn',
  ]
  return start(args, stage, '', `http://127.0.0.1:${probe}/readyz`)
}
