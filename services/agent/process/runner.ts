/**
 * Programs of this machine, one a place:
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
import { messageOf } from '#operator/client/errors.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { formatDuration } from '#operator/model/duration.ts'
import type { Logger } from '#operator/model/log.ts'
import { backoff } from '../backoff.ts'
import { readIfThere, replaceFile } from '../placement-store.ts'
import { type Program, programOf, STOP_TIMEOUT, scoreDigest } from '../workload.ts'
import type { Place, Report, Runner } from '../workload-runner.ts'
import { launch, outputFile } from './launch.ts'
import { keepShort } from './output.ts'
import { type Identity, identityOf, isAlive, markedLeaders } from './process-table.ts'
import { killGroup, stopGroup } from './stop.ts'

/** A program that lived so long counts as running. Milliseconds. */
export const STEADY = 2_000
/** After so long a life its failures are forgotten. Milliseconds. */
const CALM = 60_000
/** How often a program that another agent started is looked at. Milliseconds. */
const LOOK = 500

/** What is written down of a running program. */
interface Running {
  readonly identity: Identity
  /** Of the score that it was started for. */
  readonly digest: string
  /** Milliseconds that it may take to stop. */
  readonly stopTimeout: number
}

/** A program that lives. */
interface Life {
  readonly running: Running
  /** Undefined for one that was taken over. */
  readonly child: ChildProcess | undefined
}

export interface ProcessRunnerOptions {
  /** No other agent of this machine has the same: programs are told apart by it. */
  readonly agent: string
  readonly clock: Clock
  readonly log: Logger
}

export const processRunner = ({ agent, clock, log }: ProcessRunnerOptions): Runner => {
  const markOf = ({ key }: Place): string => `${agent}/${key}`

  const remembered = async (place: Place): Promise<Running | undefined> => {
    const bytes = await readIfThere(recordOf(place))
    try {
      return bytes === undefined ? undefined : (JSON.parse(bytes.toString()) as Running)
    } catch {
      return undefined // it is found by its mark
    }
  }

  /** Ends all that is there for the place but the one that is wanted, and gives that one. */
  const takeOver = async (place: Place, digest: string | undefined): Promise<Running | undefined> => {
    const record = await remembered(place)
    const kept =
      record?.digest === digest && record !== undefined && (await isAlive(record.identity)) ? record : undefined
    const isKept = ({ pid }: Identity): boolean => pid === kept?.identity.pid
    const marked = await markedLeaders(`${markOf(place)}@`)
    const others = [...marked, ...(record === undefined ? [] : [record.identity])].filter((one) => !isKept(one))
    for (const other of others) await stopGroup(other, record?.stopTimeout ?? STOP_TIMEOUT, clock)
    return kept
  }

  const begin = async (place: Place, program: Program, digest: string): Promise<Life> => {
    const child = await launch(place, program, `${markOf(place)}@${digest}`)
    const pid = child.pid as number
    const identity = await identityOf(pid)
    const running = { identity, digest, stopTimeout: program.stopTimeout }
    await replaceFile(recordOf(place), canonicalText(running))
    log.info('program started', { deployment: place.deployment, pid })
    return { running, child }
  }

  /** How it ended, for people; undefined when the signal aborted first. */
  const end = async ({ running: { identity }, child }: Life, signal: AbortSignal): Promise<string | undefined> => {
    if (child === undefined) {
      while (!signal.aborted && (await isAlive(identity))) await clock.sleep(LOOK, signal)
      return signal.aborted ? undefined : 'it ended'
    }
    return new Promise((resolve) => {
      const ended = (): void => {
        signal.removeEventListener('abort', aborted)
        resolve(
          child.signalCode === null
            ? `it ended with exit code ${child.exitCode}`
            : `it was ended by ${child.signalCode}`,
        )
      }
      const aborted = (): void => {
        child.off('exit', ended)
        resolve(undefined)
      }
      if (signal.aborted) resolve(undefined)
      else if (child.exitCode !== null || child.signalCode !== null) ended()
      else {
        child.once('exit', ended)
        signal.addEventListener('abort', aborted, { once: true })
      }
    })
  }

  /** Tells that it runs once it is steady, unless it ends before. */
  const settle = async (report: Report, signal: AbortSignal): Promise<void> => {
    await clock.sleep(STEADY, signal)
    if (!signal.aborted) report('Running')
  }

  /** From its start to its end. */
  const live = async (life: Life, report: Report, signal: AbortSignal): Promise<string | undefined> => {
    const over = new AbortController()
    if (life.child === undefined) report('Running')
    const settled = life.child === undefined ? undefined : settle(report, AbortSignal.any([signal, over.signal]))
    const how = await end(life, signal)
    over.abort()
    await settled
    // What it started does not outlive it, or the next one would meet it.
    if (how !== undefined) await killGroup(life.running.identity, clock)
    return how
  }

  const tend = async (place: Place, score: Score, report: Report, signal: AbortSignal): Promise<void> => {
    const program = programOf(score)
    const digest = scoreDigest(score)
    for (let failures = 0; !signal.aborted; ) {
      const since = monotonic(clock)
      let problem: string | undefined
      try {
        // Each time: what could not be written down the last time is found by its mark.
        const running = await takeOver(place, digest)
        if (running === undefined && failures === 0) report('Pending', 'it is being started')
        if (running !== undefined)
          log.info('program taken over', { deployment: place.deployment, pid: running.identity.pid })
        const life = running === undefined ? await begin(place, program, digest) : { running, child: undefined }
        problem = await live(life, report, signal)
      } catch (error) {
        problem = messageOf(error)
      }
      if (problem === undefined) return
      failures = monotonic(clock) - since > CALM ? 1 : failures + 1
      const wait = backoff(failures)
      log.warn('program failed', { deployment: place.deployment, problem, failures, wait })
      report('Failed', `${problem}; failure ${failures}, it starts again in ${formatDuration(wait)}`)
      await clock.sleep(wait, signal)
    }
  }

  return {
    async tend(place, score, report, signal) {
      const file = outputFile(place)
      const over = new AbortController()
      const short = keepShort(file, clock, AbortSignal.any([signal, over.signal]))
      try {
        await tend(place, score, report, signal)
      } finally {
        over.abort()
        await short
      }
    },
    async remove(place) {
      await takeOver(place, undefined)
    },
    async halt(place) {
      await takeOver(place, undefined)
    },
  }
}

const recordOf = ({ folder }: Place): string => join(folder, 'process.json')
