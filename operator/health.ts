import type { Binding } from './binding.ts'
import { type Clock, monotonic } from './model/clock.ts'
import { type Duration, formatDuration, toMilliseconds } from './model/duration.ts'
import { type Answer, type SideServer, serve } from './serve.ts'

/** What a check finds: undefined when all is well, else a sentence that says what is not. */
export type CheckResult = string | undefined

/** What the kubelet asks: are we alive (else restart us), are we ready (else send us nothing)? */
export interface Health {
  /**
   * A loop that must keep moving. Alive as long as it beats at least once every `maxAge`.
   * @returns call `beat` on every turn, `stop` when the loop has ended in good order
   */
  heartbeat(name: string, maxAge: Duration): Heartbeat
  /** A condition for readiness, such as a filled cache. Must be quick. What it throws is its message. */
  check(name: string, find: () => CheckResult): void
  live(): Report
  ready(): Report
}

export interface Heartbeat {
  beat(): void
  stop(): void
}

/** By name, in the order of registration. */
export type Report = ReadonlyMap<string, CheckResult>

export const createHealth = (clock: Clock): Health => {
  const loops = new Map<string, { readonly maxAge: number; beatAt: number }>()
  const checks = new Map<string, () => CheckResult>()
  const now = () => monotonic(clock)

  return {
    heartbeat(name, maxAge) {
      const loop = { maxAge: toMilliseconds(maxAge), beatAt: now() }
      loops.set(name, loop)
      return {
        beat: () => {
          loop.beatAt = now()
        },
        stop: () => {
          if (loops.get(name) === loop) loops.delete(name)
        },
      }
    },
    check: (name, find) => {
      checks.set(name, find)
    },
    live: () => new Map([...loops].map(([name, loop]) => [name, stillness(loop, now())])),
    ready: () => new Map([...checks].map(([name, find]) => [name, found(find)])),
  }
}

/** Serves `/healthz` and `/readyz`, with every check by name for `?verbose`. @throws BindingError */
export const serveHealth = (health: Health, binding: Binding, flag: string): Promise<SideServer> =>
  serve(
    {
      '/healthz': (query) => answer('healthz', health.live(), query.has('verbose')),
      '/readyz': (query) => answer('readyz', health.ready(), query.has('verbose')),
    },
    binding,
    flag,
  )

const stillness = (
  { maxAge, beatAt }: { readonly maxAge: number; readonly beatAt: number },
  now: number,
): CheckResult =>
  now - beatAt <= maxAge
    ? undefined
    : `no move for ${formatDuration(Math.round(now - beatAt))}, at most ${formatDuration(maxAge)} is expected`

const found = (find: () => CheckResult): CheckResult => {
  try {
    return find()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** As the API server writes it: `[+]name ok`, `[-]name failed: why`. A failure is always told in full. */
const answer = (name: string, report: Report, verbose: boolean): Answer => {
  const isGood = [...report.values()].every((finding) => finding === undefined)
  if (isGood && !verbose) return { status: 200, body: 'ok\n' }
  const lines = [...report].map(([check, finding]) =>
    finding === undefined ? `[+]${check} ok` : `[-]${check} failed: ${finding}`,
  )
  const verdict = `${name} check ${isGood ? 'passed' : 'failed'}`
  return { status: isGood ? 200 : 503, body: `${[...lines, verdict].join('\n')}\n` }
}
