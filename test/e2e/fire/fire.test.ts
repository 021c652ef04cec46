import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { redisMissing } from '#test/harness/argocd.ts'
import { repetitions } from '#test/harness/deep.ts'
import { postgresMissing } from '#test/harness/index.ts'
import { notYet } from '#test/worlds/suite/as-declared.ts'
import { type DeclaredPool, REMOTE } from '#test/worlds/suite/declared.ts'
import { HASTE } from '#test/worlds/suite/installer.ts'
import { burn } from './burn.ts'
import { dayOf, declaredAfter } from './day.ts'
import { seedOf } from './random.ts'
import { SERVERS, strikesOf } from './strikes.ts'
import { type FireWorld, fireWorld } from './world.ts'

/** Of the simulated day, and of what passes of the real one meanwhile, in milliseconds. */
const DAY = repetitions({ deep: 600_000, slice: 240_000 })
const DURATION = DAY / HASTE

/** Between two commits and between two strikes, in milliseconds. */
const COMMITS = 6_000
const STRIKES = 2_000

/** The same fire again: MUSTER_FIRE_SEED, as the failed run printed it. */
const SEED = seedOf(process.env.MUSTER_FIRE_SEED) ?? Math.floor(Math.random() * 1_000_000)

/** After the fire everything must have come right by then; nothing waits so long when all is well. */
const PATIENCE = { timeout: 240_000, interval: 500 }
const TIMEOUT = 900_000

/** GITOPS-2: from a commit to a workload, and back to nothing. */
describe.skipIf(redisMissing() !== undefined || postgresMissing() !== undefined)('from a commit to nothing', () => {
  let world: FireWorld

  beforeAll(async () => {
    world = await fireWorld()
  }, 300_000)

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
  })

  /** What a person needs whom this test wakes. */
  const tellWhenItFails = (): void => {
    onTestFailed(async () => {
      console.log(
        [`The fire of MUSTER_FIRE_SEED=${SEED}:`, ...world.timeline.lines(), await world.lastStates()].join('\n'),
      )
    }, 60_000)
  }

  /** Waits for a list of what is missing to be empty; ends at once when an invariant was broken. */
  const untilNone = async (list: () => readonly string[]): Promise<void> => {
    await expect
      .poll(() => (world.observer.violations().length > 0 ? ['an invariant was broken'] : list()), PATIENCE)
      .toEqual([])
    world.timeline.note('done')
  }

  const declare = async (message: string, declared: DeclaredPool): Promise<void> => {
    await world.commit(message, declared.name, declared)
    await untilNone(() => notYet(new Map([[declared.name, declared]]), world.observer.objects))
  }

  test('a pool, a claim, a device and its workload come and go by commits alone', { timeout: TIMEOUT }, async () => {
    tellWhenItFails()
    const { observer, cluster } = world
    const bare: DeclaredPool = { name: 'calm', size: 1, customizations: ['c1', 'c2', 'c3'], claims: [], rollouts: {} }
    await declare('Add a pool', bare)
    const claimed = { ...bare, claims: ['mine'] }
    await declare('Claim a cluster', claimed)
    const [claim] = observer.objects('ClusterClaim')
    const name = (claim?.spec as { readonly namespace?: string } | undefined)?.namespace ?? ''
    const device = () => observer.objects('Device').find(({ metadata }) => metadata.name === name)
    await expect
      .poll(() => device()?.metadata.labels, PATIENCE)
      .toMatchObject({ 'device.fleet.nationtech.io/pool': 'calm', 'fleet.nationtech.io/cluster-namespace': name })
    const running = { ...claimed, rollouts: { web: 'hello' } }
    await declare('Roll a workload out to its clusters', running)
    const workload = () =>
      cluster.kubectl('get', 'configmap/web', '-n', REMOTE, '--ignore-not-found', '-o', 'jsonpath={.data.text}')
    await expect.poll(workload, PATIENCE).toBe('hello')
    await declare('Withdraw the workload', claimed)
    await expect.poll(workload, PATIENCE).toBe('')
    await declare('Release the cluster', bare)
    await world.commit('Remove the pool', bare.name, undefined)
    await untilNone(observer.remains)
    expect(observer.violations()).toEqual([])
  })

  test(`${DAY / 60_000} minutes of a day under fire end as Git declares, and then with nothing`, {
    timeout: TIMEOUT,
  }, async () => {
    tellWhenItFails()
    const { observer, suite, timeline } = world
    timeline.note(`the fire of MUSTER_FIRE_SEED=${SEED} begins: ${DAY / 60_000} minutes in ${DURATION / 1_000} s`)
    const day = dayOf({ seed: SEED, duration: DURATION, pace: COMMITS, pools: ['north', 'south'] })
    const strikes = strikesOf({
      seed: SEED,
      duration: DURATION,
      pace: STRIKES,
      processes: [...suite.processes.keys()],
      servers: SERVERS,
    })
    const before = observer.seen()
    const isLost = () => observer.violations().length > 0
    await Promise.all([burn(world, strikes, isLost), world.live(day, isLost)])
    await world.tellArgo()
    await untilNone(() => notYet(declaredAfter(day), observer.objects))
    timeline.note('everything is as Git declares')
    for (const pool of declaredAfter(day).keys()) await world.commit(`Remove ${pool}`, pool, undefined)
    await untilNone(observer.remains)
    expect(observer.violations()).toEqual([])
    // An observer that saw nothing has proved nothing.
    expect(observer.seen().clusters).toBeGreaterThan(before.clusters)
    expect(observer.seen().pulses).toBeGreaterThan(before.pulses)
  })

  test('no process ended by itself, and no event was given up', { timeout: TIMEOUT }, async () => {
    tellWhenItFails()
    await expect.poll(() => world.givenUp(), PATIENCE).toEqual([])
    expect(world.endedAlone()).toEqual([])
  })
})
