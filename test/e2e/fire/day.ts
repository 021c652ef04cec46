/** A day of commits: pools, claims and rollouts come and go. From a seed. Pure. */
import type { DeclaredPool } from '#test/worlds/suite/declared.ts'
import { type Random, randomOf } from './random.ts'

/** One commit: what is declared from then on of one pool. */
export interface Change {
  /** Milliseconds from the beginning of the day. */
  readonly at: number
  /** The commit's message. */
  readonly message: string
  readonly pool: string
  /** Undefined: its folder is removed. */
  readonly declared: DeclaredPool | undefined
}

export interface DayOptions {
  readonly seed: number
  /** Of the whole day, in milliseconds. */
  readonly duration: number
  /** Between two commits, in milliseconds. */
  readonly pace: number
  readonly pools: readonly string[]
  /** Pools stay, as large as they were made. */
  readonly keepsPools?: boolean
}

const LEAST_SIZE = 1
const MOST_SIZE = 2
const MOST_CLAIMS = 2
const MOST_ROLLOUTS = 2

/** Enough for every pool of any size with all its claims, and one to spare. */
const INVENTORY = MOST_SIZE + MOST_CLAIMS + 1

/** The first commits make every pool; the others change one each. In the order of time. */
export const dayOf = ({ seed, duration, pace, pools, keepsPools = false }: DayOptions): readonly Change[] => {
  const random = randomOf(seed)
  const state = new Map<string, DeclaredPool | undefined>()
  const changes: Change[] = []
  const names = counter()
  for (let at = 0; at < duration; at += Math.round(pace * (0.5 + random.next()))) {
    const pool = pools.find((name) => !state.has(name)) ?? random.pick(pools)
    const { message, declared } = changed(random, pool, state.get(pool), names, keepsPools)
    state.set(pool, declared)
    changes.push({ at, message, pool, declared })
  }
  return changes
}

/** Names that no other object of the day has: a claim that comes back is another claim. */
const counter = () => {
  let count = 0
  return (kind: string): string => `${kind}-${++count}`
}

type Names = (kind: string) => string

const fresh = (name: string): DeclaredPool => ({
  name,
  size: LEAST_SIZE,
  customizations: Array.from({ length: INVENTORY }, (_, index) => `${name}-${index + 1}`),
  claims: [],
  rollouts: {},
})

const changed = (
  random: Random,
  name: string,
  now: DeclaredPool | undefined,
  names: Names,
  keepsPool: boolean,
): { readonly message: string; readonly declared: DeclaredPool | undefined } => {
  if (now === undefined) {
    const rollout = names('rollout')
    return { message: `Add the pool ${name}`, declared: { ...fresh(name), rollouts: { [rollout]: 'first' } } }
  }
  const options = [
    ...(now.claims.length < MOST_CLAIMS ? [claim, claim, claim] : []),
    ...(now.claims.length > 0 ? [release, release] : []),
    ...(Object.keys(now.rollouts).length < MOST_ROLLOUTS ? [rollOut] : []),
    ...(Object.keys(now.rollouts).length > 0 ? [update, withdraw] : []),
    // Now and then a pool goes with all that it has.
    ...(keepsPool ? [] : [resize, ...(random.next() < 0.3 ? [drop] : [])]),
  ]
  return random.pick(options)(now, random, names)
}

type Move = (now: DeclaredPool, random: Random, names: Names) => ReturnType<typeof changed>

const claim: Move = (now, _, names) => {
  const added = names('claim')
  return { message: `Claim ${added} of ${now.name}`, declared: { ...now, claims: [...now.claims, added] } }
}
const release: Move = (now, random) => {
  const gone = random.pick(now.claims)
  return { message: `Release ${gone}`, declared: { ...now, claims: now.claims.filter((one) => one !== gone) } }
}
const rollOut: Move = (now, _, names) => {
  const added = names('rollout')
  return { message: `Roll ${added} out`, declared: { ...now, rollouts: { ...now.rollouts, [added]: 'first' } } }
}
const update: Move = (now, random) => {
  const one = random.pick(Object.keys(now.rollouts))
  const text = `version ${random.below(1_000_000)}`
  return { message: `Update ${one}`, declared: { ...now, rollouts: { ...now.rollouts, [one]: text } } }
}
const withdraw: Move = (now, random) => {
  const gone = random.pick(Object.keys(now.rollouts))
  const rollouts = Object.fromEntries(Object.entries(now.rollouts).filter(([name]) => name !== gone))
  return { message: `Withdraw ${gone}`, declared: { ...now, rollouts } }
}
const resize: Move = (now) => {
  const size = now.size === MOST_SIZE ? LEAST_SIZE : MOST_SIZE
  return { message: `Have ${size} clusters wait in ${now.name}`, declared: { ...now, size } }
}
const drop: Move = ({ name }) => ({ message: `Remove the pool ${name}`, declared: undefined })

/** What is declared when all of these commits are there, by the pool's name. */
export const declaredAfter = (changes: readonly Change[]): ReadonlyMap<string, DeclaredPool> =>
  new Map(
    [...new Map(changes.map(({ pool, declared }) => [pool, declared]))].filter(
      (entry): entry is [string, DeclaredPool] => entry[1] !== undefined,
    ),
  )
