/** An `npm run up` with real clusters, as its page says to start it, that a bench asks and stops. */
import { globSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startProcessGroup } from '#test/harness/process-group.ts'
import { type ApiServer, connect } from '../load/client.ts'

export interface RunningUp extends AsyncDisposable {
  readonly server: ApiServer
  /** Of all processes of clusters, MiB. */
  memory(): Memory
}

export interface Memory {
  /** What no other process has. */
  readonly own: number
  /** With each process's share of what several have, mostly the programs' text. */
  readonly proportional: number
}

const SCRIPT = ['hack/run.mjs', 'hack/up/up.ts']
const DEADLINE_MS = 600_000

const start = async (...args: readonly string[]) => {
  const home = await temporaryFolder('bench-up')
  return startProcessGroup('node', [...SCRIPT, ...args], { XDG_STATE_HOME: home, MUSTER_CLUSTER: 'local' })
}

/** Milliseconds that `npm run up -- --once` takes. @throws with its output, when it fails */
export const timeOnce = async (): Promise<number> => {
  const began = performance.now()
  const group = await start('--once')
  if ((await group.exited) !== 0) throw new Error(`npm run up -- --once failed:\n${group.output()}`)
  return performance.now() - began
}

/** Resolves when it has its samples and says what to do next. @throws with its output, when it ends before */
export const startUp = async (): Promise<RunningUp> => {
  const group = await start()
  let ended = false
  const exited = group.exited.then(() => {
    ended = true
  })
  const deadline = performance.now() + DEADLINE_MS
  while (!group.output().includes('All goes on')) {
    if (ended || performance.now() > deadline) throw new Error(`npm run up did not come up:\n${group.output()}`)
    await sleep(100)
  }
  const kubeconfig = /export KUBECONFIG=(\S+)/.exec(group.output())?.[1] ?? ''
  const server = connect(kubeconfig, 8)
  return {
    server,
    memory: memoryOfClusters,
    async [Symbol.asyncDispose]() {
      await server.close()
      group.interrupt('SIGINT')
      await exited
    },
  }
}

/** The service gives each cluster a folder below this one, and each process of it has that in its arguments. */
const OF_A_CLUSTER = /\/state\/clusters\//

const memoryOfClusters = (): Memory => {
  const rollups = globSync('/proc/[0-9]*/cmdline').flatMap((file) => {
    try {
      const ours = OF_A_CLUSTER.test(readFileSync(file, 'utf8'))
      return ours ? [readFileSync(file.replace('cmdline', 'smaps_rollup'), 'utf8')] : []
    } catch {
      // It has just ended.
      return []
    }
  })
  const sum = (...fields: readonly string[]): number =>
    rollups.reduce((total, text) => total + fields.reduce((mib, field) => mib + mibOf(text, field), 0), 0)
  return { own: sum('Private_Clean', 'Private_Dirty'), proportional: sum('Pss') }
}

const mibOf = (rollup: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1] ?? 0) / 1024
