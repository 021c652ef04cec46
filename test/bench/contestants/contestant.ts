/** An operator that does the work of the runtime benches: ours or a peer's. */
import { readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, lastLines, startChild } from '#hack/process/child.ts'
import { moment } from '../load/moment.ts'
import { type Usage, usageOf } from '../measure/process.ts'
import type { Stage } from '../stage.ts'

/** `serve`: finalizer, status Ready for the generation, finalizer off on delete. The others only keep a cache. */
export type Mode = 'serve' | 'cache-whole' | 'cache-projected'

export interface Contestant {
  readonly id: 'muster' | 'controller-runtime' | 'kopf'
  /** With its version, for the table. */
  readonly name: string
  readonly modes: readonly Mode[]
  readonly command: string
  readonly args: readonly string[]
  /** Beside the environment of the bench. */
  readonly env?: Readonly<Record<string, string>>
}

export interface Running {
  /** When the process was started; see `moment`. */
  readonly startedAt: number
  readonly usage: () => Usage
  /** Milliseconds from the start until it has printed `synced`, to 5 ms. kopf, which keeps no cache, never does. */
  readonly synced: () => Promise<number>
}

/**
 * Runs a contestant on the stage's API server while the work is done, and stops it. Its output goes to a log file; MODE in
 * its environment says what to do.
 * @throws when it ends before the work does, with its last words
 */
export const withContestant = async <R>(
  contestant: Contestant,
  mode: Mode,
  stage: Stage,
  work: (running: Running) => Promise<R>,
): Promise<R> => {
  const logFile = join(await mkdtemp(join(stage.folder, `${contestant.id}-`)), 'log')
  const startedAt = moment()
  const child = await startChild({
    name: contestant.name,
    command: contestant.command,
    args: contestant.args,
    env: { ...process.env, ...contestant.env, KUBECONFIG: stage.kubeconfig, MODE: mode },
    logFile,
    guarded: true,
  })
  const synced = async (): Promise<number> => {
    while (!readFileSync(logFile, 'utf8').includes('synced\n')) await sleep(5)
    return moment() - startedAt
  }
  try {
    return await Promise.race([work({ startedAt, usage: () => usageOf(child.pid), synced }), endOf(child)])
  } finally {
    await child.stop()
  }
}

const endOf = async ({ name, exited, logFile }: Child): Promise<never> => {
  const { code, signal } = await exited
  throw new Error(
    `${name} ended (${signal ?? `exit ${code}`}) during the bench. Its log ends with:\n${lastLines(logFile)}`,
  )
}
