/**
 * Programs of this machine, one for each placement. AGENT-7, AGENT-9, AGENT-45:
 *
 *   start ─► Pending ── steady ─► Running
 *     ▲                             │ ends
 *     └── backoff ── Failed ◄───────┘
 *
 * A program outlives its agent. The next agent takes it over when it is the one that is wanted, and ends it otherwise.
 */

import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { canonicalText } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { untilAborted } from '#lib/abort/until-aborted.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { replaceFile } from '#lib/replace-file.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { formatDuration } from '#operator/model/duration.ts'
import type { Logger } from '#operator/model/log.ts'
import { retryDelay } from '../backoff.ts'
import { readIfThere } from '../placement-store.ts'
import { DEFAULT_STOP_TIMEOUT_MS, type Program, toProgram, workloadDigest } from '../workload.ts'
import type { LocalPlacement, ReportPhase, WorkloadRunner } from '../workload-runner.ts'
import { accountsOf, endAccount } from './account-processes.ts'
import { outputFile } from './launch.ts'
import { rotateOutput } from './output.ts'
import { findMarkedLeaders, identityOf, isAlive, type ProcessIdentity } from './process-table.ts'
import type { ProgramHost } from './program-host.ts'
import { killGroup, stopGroup } from './stop.ts'
import { waitForExit } from './wait-for-exit.ts'

/** A program that lived so long counts as running. Milliseconds. */
const STEADY_AFTER_MS = 2_000
/** After so long a life its failures are forgotten. Milliseconds. */
const FAILURES_FORGOTTEN_AFTER_MS = 60_000

/** What is written down of a running program. */
interface ProcessRecord {
  readonly identity: ProcessIdentity
  /** Of the score that it was started for. */
  readonly digest: string
  /** Milliseconds that it may take to stop. */
  readonly stopTimeout: number
  /** Its account; absent when it has that of the agent. */
  readonly uid?: number
}

/** A program that lives. */
interface RunningProgram {
  readonly running: ProcessRecord
  /** Undefined for one that was taken over. */
  readonly child: ChildProcess | undefined
}

export interface ProcessRunnerOptions {
  /** No other agent of this machine has the same: programs are told apart by it. */
  readonly agent: string
  readonly host: ProgramHost
  readonly clock: Clock
  readonly log: Logger
}

export const processRunner = ({ agent, host, clock, log }: ProcessRunnerOptions): WorkloadRunner => {
  const markOf = ({ key }: LocalPlacement): string => `${agent}/${key}`

  /** Ends all programs of the placement except the desired one, and returns that one. */
  const takeOver = async (
    placement: LocalPlacement,
    digest: string | undefined,
    uid: number | undefined,
  ): Promise<ProcessRecord | undefined> => {
    const record = await readRecord(placement)
    const isDesired = record !== undefined && record.digest === digest && record.uid === uid
    const kept = isDesired && (await isAlive(record.identity)) ? record : undefined
    const isKept = ({ pid }: ProcessIdentity): boolean => pid === kept?.identity.pid
    const marked = await findOwn(await findMarkedLeaders(`${markOf(placement)}@`), uid, record?.uid)
    const others = [...marked, ...(record === undefined ? [] : [record.identity])].filter((one) => !isKept(one))
    for (const other of others) await stopGroup(other, record?.stopTimeout ?? DEFAULT_STOP_TIMEOUT_MS, clock)
    if (kept === undefined) await endAccounts(uid, record?.uid)
    return kept
  }

  /** Whatever programs have started, also what left their group. */
  const endAccounts = async (...uids: readonly (number | undefined)[]): Promise<void> => {
    for (const uid of new Set(uids)) if (uid !== undefined) await endAccount(uid, clock)
  }

  const removeAll = async (placement: LocalPlacement): Promise<void> => {
    await takeOver(placement, undefined, host.knownUidOf(placement.key))
  }

  const begin = async (
    placement: LocalPlacement,
    program: Program,
    digest: string,
    uid: number | undefined,
  ): Promise<RunningProgram> => {
    const child = await host.launch(placement, program, `${markOf(placement)}@${digest}`)
    const pid = child.pid as number
    const identity = await identityOf(pid)
    const running = { identity, digest, stopTimeout: program.stopTimeout, ...(uid !== undefined && { uid }) }
    await replaceFile(recordFile(placement), canonicalText(running))
    log.info('program started', { deployment: placement.deployment, pid })
    return { running, child }
  }

  const superviseProgram = async (
    placement: LocalPlacement,
    score: Score,
    report: ReportPhase,
    signal: AbortSignal,
  ): Promise<void> => {
    const program = toProgram(score)
    const digest = workloadDigest(score)
    for (let failures = 0; !signal.aborted; ) {
      const since = monotonic(clock)
      let problem: string | undefined
      try {
        // Each time: what could not be written down the last time is found by its mark.
        const uid = await host.uidOf(placement.key)
        const running = await takeOver(placement, digest, uid)
        if (running === undefined && failures === 0) report('Pending', 'it is being started')
        if (running !== undefined)
          log.info('program taken over', { deployment: placement.deployment, pid: running.identity.pid })
        const life =
          running === undefined ? await begin(placement, program, digest, uid) : { running, child: undefined }
        problem = await followProgram(life, clock, report, signal)
        if (problem !== undefined) await endAccounts(life.running.uid)
      } catch (error) {
        problem = messageOf(error)
      }
      if (problem === undefined) return
      failures = monotonic(clock) - since > FAILURES_FORGOTTEN_AFTER_MS ? 1 : failures + 1
      const wait = retryDelay(failures)
      log.warn('program failed, it starts again', { deployment: placement.deployment, problem, failures, wait })
      report('Failed', `${problem}; failure ${failures}, it starts again in ${formatDuration(wait)}`)
      await clock.sleep(wait, signal)
    }
  }

  return {
    async run(placement, score, report, signal) {
      if (host.problem !== undefined) {
        report('Failed', host.problem)
        await untilAborted(signal)
        return
      }
      const file = outputFile(placement)
      const over = new AbortScope(signal)
      const short = rotateOutput(file, clock, over.signal)
      try {
        await superviseProgram(placement, score, report, signal)
      } finally {
        over.abort()
        await short
      }
    },
    remove: removeAll,
    stop: removeAll,
  }
}

/** Of those that have the mark: a program of another account may have given it to what it started, so that its end is waited for. */
const findOwn = async (
  marked: readonly ProcessIdentity[],
  ...uids: readonly (number | undefined)[]
): Promise<readonly ProcessIdentity[]> => {
  const own = new Set([...uids, process.getuid?.()])
  const accounts = await Promise.all(marked.map(({ pid }) => accountsOf(pid)))
  return marked.filter((_, index) => accounts[index]?.every((uid) => own.has(uid)))
}

const recordFile = ({ folder }: LocalPlacement): string => join(folder, 'process.json')

const readRecord = async (placement: LocalPlacement): Promise<ProcessRecord | undefined> => {
  const bytes = await readIfThere(recordFile(placement))
  try {
    return bytes === undefined ? undefined : (JSON.parse(bytes.toString()) as ProcessRecord)
  } catch {
    return undefined // it is found by its mark
  }
}

/** From its start to its end. @returns how it ended; undefined when the signal aborted first */
const followProgram = async (
  { running: { identity }, child }: RunningProgram,
  clock: Clock,
  report: ReportPhase,
  signal: AbortSignal,
): Promise<string | undefined> => {
  using over = new AbortScope(signal)
  if (child === undefined) report('Running')
  const settled = child === undefined ? undefined : reportWhenSteady(clock, report, over.signal)
  const how = await waitForExit(identity, child, clock, signal)
  over.abort()
  await settled
  // What it started does not outlive it, or the next one would meet it.
  if (how !== undefined) await killGroup(identity, clock)
  return how
}

/** Tells that it runs once it is steady, unless it ends before. */
const reportWhenSteady = async (clock: Clock, report: ReportPhase, signal: AbortSignal): Promise<void> => {
  await clock.sleep(STEADY_AFTER_MS, signal)
  if (!signal.aborted) report('Running')
}
