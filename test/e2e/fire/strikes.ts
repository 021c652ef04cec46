/** What the fire does, and when: a plan from a seed. Pure. */
import { type Random, randomOf } from './random.ts'

export type Strike =
  /** SIGKILL, or SIGTERM as an update does it. */
  | { readonly what: 'Kill' | 'Restart'; readonly process: string }
  /** SIGKILL, and the same again on the same data. */
  | { readonly what: 'Crash'; readonly server: Server }
  /** Writes to the API server are refused: 409 Conflict. */
  | { readonly what: 'Conflicts'; readonly milliseconds: number }
  /** Writes to the API server are done, and their answers are lost. */
  | { readonly what: 'LostAnswers'; readonly milliseconds: number }
  /** Everything under way to the API server breaks, watches too. */
  | { readonly what: 'CutWatches' }

export const SERVERS = [
  'kube-apiserver',
  'etcd',
  'nats',
  'postgres',
  'argocd-repo-server',
  'argocd-application-controller',
  'argocd-applicationset-controller',
] as const

export type Server = (typeof SERVERS)[number]

export interface TimedStrike {
  /** Milliseconds from the beginning of the fire. */
  readonly at: number
  readonly strike: Strike
}

export interface FireOptions {
  readonly seed: number
  /** Of the whole fire, in milliseconds. */
  readonly duration: number
  /** Between two strikes, in milliseconds, on average. */
  readonly pace: number
  readonly processes: readonly string[]
  readonly servers: readonly Server[]
}

/** How long a storm takes, in milliseconds: longer than a client tries again at once, shorter than a Lease lives. */
const STORM = { least: 500, more: 2_500 }

/** Every process and every server is struck at least once, whatever the pace; the rest is chance. In the order of time. */
export const strikesOf = ({ seed, duration, pace, processes, servers }: FireOptions): readonly TimedStrike[] => {
  const random = randomOf(seed)
  const certain: readonly Strike[] = [
    ...processes.map((process): Strike => ({ what: 'Kill', process })),
    ...servers.map((server): Strike => ({ what: 'Crash', server })),
    conflicts(random),
    lostAnswers(random),
    { what: 'CutWatches' },
  ]
  const chances = Math.max(0, Math.round(duration / pace) - certain.length)
  const byChance = Array.from({ length: chances }, () => chanceOf(random, processes))
  const strikes = random.shuffled([...certain, ...byChance])
  const times = strikes.map(() => random.below(duration)).toSorted((a, b) => a - b)
  return strikes.map((strike, index) => ({ at: times[index] ?? 0, strike }))
}

/** What costs little may come often: servers that take long to come back are struck only for certain. */
const chanceOf = (random: Random, processes: readonly string[]): Strike => {
  const roll = random.next()
  if (roll < 0.5) return { what: 'Kill', process: random.pick(processes) }
  if (roll < 0.6) return { what: 'Restart', process: random.pick(processes) }
  if (roll < 0.75) return conflicts(random)
  if (roll < 0.85) return lostAnswers(random)
  if (roll < 0.95) return { what: 'CutWatches' }
  return { what: 'Crash', server: 'nats' }
}

const storm = (random: Random): number => STORM.least + random.below(STORM.more)
const conflicts = (random: Random): Strike => ({ what: 'Conflicts', milliseconds: storm(random) })
const lostAnswers = (random: Random): Strike => ({ what: 'LostAnswers', milliseconds: storm(random) })

/** For a timeline. */
export const told = (strike: Strike): string => {
  switch (strike.what) {
    case 'Kill':
      return `SIGKILL to ${strike.process}`
    case 'Restart':
      return `SIGTERM to ${strike.process}`
    case 'Crash':
      return `SIGKILL to ${strike.server}, which begins again`
    case 'Conflicts':
      return `writes to the API server are answered 409 for ${strike.milliseconds} ms`
    case 'LostAnswers':
      return `answers to writes to the API server are lost for ${strike.milliseconds} ms`
    case 'CutWatches':
      return 'every connection to the API server breaks'
  }
}
