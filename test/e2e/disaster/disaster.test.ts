/** A store goes back in time, or devices go away, below a suite at work; a person does what docs/disaster-recovery.md says. */
import { afterAll, beforeAll, describe, expect, onTestFailed, test, vi } from 'vitest'
import { isDeep } from '#test/harness/deep.ts'
import { postgresMissing } from '#test/harness/index.ts'
import type { DeclaredPool } from '#test/worlds/suite/declared.ts'
import { AWAY, type DisasterWorld, disasterWorld } from './world.ts'

/** Nothing waits so long when all is well. */
const PATIENCE = { timeout: 180_000, interval: 1_000 }
const TIMEOUT = 600_000

const NORTH: DeclaredPool = {
  name: 'north',
  size: 1,
  customizations: Array.from({ length: 6 }, (_, i) => `north-${i}`),
  claims: ['mine'],
  rollouts: { web: 'first' },
  // Whatever is lost, a person has to look at it.
  deletionBrake: { percent: 0, least: 0 },
}

/** More than the brake of a task lets go. */
const MANY = 21
/** How long a cluster that is lost stays, in milliseconds (CLUSTER-14). */
const LOST_GRACE_MS = 92_000
const DAY_MS = 24 * 3_600_000

const DEEP_ONLY = 'npm run test:deep restores etcd'

interface Disaster {
  readonly name: string
  /** Not in every run until it has passed three times and costs less: docs/plan.md. */
  readonly isForDeep?: true
  /** What comes before it. Nothing else goes on, and at its end everything is as it is declared. */
  readonly prepare?: () => Promise<void>
  /** Commits go on all the time. */
  readonly happens: () => Promise<void>
}

describe.skipIf(postgresMissing() !== undefined)('below a suite at work', () => {
  let world: DisasterWorld

  beforeAll(async () => {
    world = await disasterWorld()
    declare('mine')
    await asDeclared()
  }, TIMEOUT)

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
  }, 120_000)

  const declare = (...claims: readonly string[]): void =>
    world.declare({ ...NORTH, claims, rollouts: { web: `with ${claims.join(' and ')}` } })

  /** Everything is as it is declared, seen after it was asked for. */
  const asDeclared = async (): Promise<void> => {
    const { observer, timeline } = world
    await vi.waitFor(async () => {
      await observer.look()
      // Nothing repairs what was broken.
      if (observer.violations().length === 0) expect(world.missing()).toEqual([])
    }, PATIENCE)
    expect(observer.violations()).toEqual([])
    timeline.note('everything is as it is declared')
  }

  /**
   * Waits until these brakes hold, and everything that is held is listed; then a person reads the lists and releases them, until nothing is held.
   * @param brakes the first words of what lists it
   */
  const releaseHeld = async (...brakes: readonly string[]): Promise<void> => {
    const { observer, timeline } = world
    await vi.waitFor(async () => {
      expect(await observer.unlisted()).toEqual([])
      const holding = (await observer.holds()).map(({ brake }) => brake)
      for (const brake of brakes) expect(holding.filter((one) => one.startsWith(brake))).not.toEqual([])
    }, PATIENCE)
    await vi.waitFor(async () => {
      const holds = await observer.holds()
      if (holds.length > 0) {
        const person = await world.instructions('What is held')
        const lists = await person.next()
        for (const { brake } of holds) expect(lists).toContain(brake === 'fleet' ? 'muster-fleet' : nameIn(brake))
        await person.next()
        person.done()
        timeline.note(`released: ${holds.map(({ brake, count }) => `${count} of ${brake}`).join(', ')}`)
      }
      expect(holds).toEqual([])
    }, PATIENCE)
  }

  /** The steps of the page, while commits go on. What is restored is what a provider does, or NATS' own backup. */
  const goBack = async (
    restored: Readonly<Partial<Record<'etcd' | 'database' | 'nats', true>>>,
    held: { readonly byPools?: true; readonly byAdapters?: true } = {},
  ): Promise<void> => {
    const { observer } = world
    const person = await world.instructions('etcd or the database went back')
    await world.stopGitOps()
    await person.next()
    await world.scaled()
    if (restored.database) await person.next()
    else person.skip()
    if (restored.etcd) await world.restoreEtcd()
    if (restored.nats) await world.restoreNats()
    await person.next()
    if (restored.etcd) await world.startControllers()
    await person.next()
    await person.next()
    await person.next()
    await person.next()
    const { deletes, problems } = JSON.parse(await person.next()) as Drilled
    expect(problems).toEqual([])
    const wanted = world.programs()
    expect(deletes.filter(({ key }) => wanted.includes(key.split('.').at(-1) ?? ''))).toEqual([])
    await person.next()
    await world.scaled()
    world.startGitOps()
    await vi.waitFor(async () => {
      await observer.look()
      expect(unregistered()).toEqual([])
    }, PATIENCE)
    await person.next()
    await person.next()
    await releaseHeld(...(held.byPools ? ['ClusterPool'] : []))
    await world.passTime(LOST_GRACE_MS)
    await person.next()
    await releaseHeld(...(held.byAdapters ? ['AdapterTask'] : []))
    // Each keeps its customization until adapters have nothing of it.
    await vi.waitFor(async () => {
      await observer.look()
      expect(world.lost()).toEqual([])
    }, PATIENCE)
    person.done()
  }

  /** Clusters of which is not said yet what becomes of them. */
  const unregistered = (): readonly string[] =>
    world.missing().filter((one) => one.endsWith('has no record') && !world.lost().some((name) => one.includes(name)))

  const disasters: readonly Disaster[] = [
    {
      // FLEET-12, FLEET-13, AGENT-5
      name: 'NATS begins with nothing: every key is written again, and no program stops',
      happens: async () => {
        declare('mine', 'second')
        await world.wipeNats()
      },
    },
    {
      // FLEET-64, AGENT-25
      name: 'the buckets are purged: every key is written again, and no program stops',
      happens: async () => {
        declare('mine')
        await world.load.done()
        await world.purgeNats()
      },
    },
    {
      // FLEET-63, FLEET-5, AGENT-26
      name: 'NATS is restored: what was withdrawn since is held, listed, and released by a person',
      prepare: async () => {
        world.runPrograms(['brief-1', 'brief-2', 'brief-3'])
        await asDeclared()
        await world.backUp('nats')
        world.runPrograms(['late'])
        declare('mine', 'third')
        await asDeclared()
      },
      happens: async () => {
        await world.restoreNats()
        await releaseHeld('fleet')
      },
    },
    {
      // FLEET-8, FLEET-10, FLEET-15, FLEET-53, AGENT-5
      name: 'a region of devices is gone for a day, and back with clocks a day off: what it is to keep runs on, the rest is caught up',
      prepare: async () => {
        world.runPrograms(['late', 'brief-changed', 'brief-withdrawn'])
        await asDeclared()
      },
      happens: async () => {
        const { suite, observer } = world
        await world.loseRegion()
        await vi.waitFor(async () => {
          await observer.look()
          for (const machine of AWAY) expect(world.machinesReady()[machine]).toBe('Unknown')
        }, PATIENCE)
        // The day: all that a device leaves in NATS but its heartbeat goes by revisions, of which it has as many as a long one.
        declare('mine', 'fourth')
        world.runPrograms(['late', 'brief-changed', 'brief-added'], 1_000)
        await suite.process('fleet').kill()
        await vi.waitFor(async () => {
          await observer.look()
          expect(observer.sight().brief.get(1_000)).toBe(2)
        }, PATIENCE)
        world.runPrograms(['late', 'brief-changed', 'brief-added'], 1_001)
        await world.load.done()
        // The machine that is there has withdrawn its own; those of the region run on.
        await vi.waitFor(async () => {
          await observer.look()
          expect(observer.sight().brief.get(1)).toBe(2 * AWAY.length)
        }, PATIENCE)
        const [behind, ahead] = AWAY
        await world.regionReturns({ [behind]: -DAY_MS, [ahead]: DAY_MS })
      },
    },
    {
      // CLUSTER-8, CLUSTER-11, RUNTIME-47, POOL-53, ADAPTER-75, ADAPTER-76
      name: 'the database is restored: claims keep their clusters, what it forgot is made again, and what is lost is held and listed',
      prepare: async () => {
        const backup = await world.instructions('Back up the database')
        await backup.next()
        // A record is removed, the standby is claimed, another cluster is made, and many resources come that Kubernetes does not declare.
        declare('mine', 'fifth', 'sixth')
        await asDeclared()
        await world.makeNodePools(MANY, 'mine')
        await asDeclared()
      },
      happens: async () => {
        const mine = world.clusterOf('mine')
        await goBack({ database: true }, { byPools: true, byAdapters: true })
        expect(world.clusterOf('mine')).toEqual(mine)
      },
    },
    {
      // FLEET-26, FLEET-72, POOL-1
      name: 'etcd is restored: what was made since is Git’s, no program stops, and no customization is in two clusters',
      isForDeep: true,
      prepare: async () => {
        await world.backUp('etcd')
        world.runPrograms(['late', 'later'])
        declare('mine', 'seventh')
        await asDeclared()
      },
      happens: () => goBack({ etcd: true }),
    },
    {
      name: 'all three are restored, each to another time',
      isForDeep: true,
      prepare: async () => {
        await world.backUp('nats')
        world.runPrograms(['late', 'later', 'brief-1'])
        declare('mine', 'seventh', 'eighth')
        await asDeclared()
        await (await world.instructions('Back up the database')).next()
        declare('mine', 'ninth')
        await asDeclared()
        await world.backUp('etcd')
        world.runPrograms(['late', 'latest'])
        declare('mine', 'tenth')
        await asDeclared()
      },
      happens: () => goBack({ etcd: true, database: true, nats: true }),
    },
  ]

  test.for(disasters)('$name', { timeout: TIMEOUT }, async ({ isForDeep = false, prepare, happens }, { skip }) => {
    skip(isForDeep && !isDeep, DEEP_ONLY)
    // What a person needs whom this test wakes.
    onTestFailed(async () => {
      const unlisted = await world.observer.unlisted().catch(String)
      console.log([...world.timeline.lines(), ...world.missing(), unlisted, await world.lastStates()].join('\n'))
    }, 60_000)
    const { load, observer } = world
    await prepare?.()
    observer.keepPrograms()
    load.work()
    await happens()
    await load.done()
    load.rest()
    await asDeclared()
  })
})

interface Drilled {
  readonly deletes: readonly { readonly key: string }[]
  readonly problems: readonly string[]
}

/** Of `ClusterPool <namespace>/<name>`. */
const nameIn = (brake: string): string => brake.split('/').at(-1) ?? ''
