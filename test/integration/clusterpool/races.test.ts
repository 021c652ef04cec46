/** Two managers, cut requests, kills at every write: no customization is ever in two clusters, and every pool is filled. */
import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { repetitions } from '#test/harness/deep.ts'
import { type Fate, sharedControlPlane } from '#test/harness/index.ts'
import { startObserver } from './observer.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

/** Many clusters on a machine that does other things as well, in milliseconds. */
const LONG = 280_000
const PATIENCE = { timeout: 300_000 }

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `c${String(index).padStart(3, '0')}`)

/** Each customization is leased by exactly the cluster that uses it, and each cluster has one. */
const whatIsWrong = async (the: PoolWorld, pools: readonly string[], listed: readonly string[]) => {
  const uses = new Map<string, string>()
  const wrong: string[] = []
  for (const pool of pools)
    for (const { metadata, spec } of await the.clusters(pool)) {
      const name = spec.clusterPoolRef?.clusterDeploymentCustomization?.name ?? 'none'
      if (uses.has(name)) wrong.push(`${name} is in ${uses.get(name)} and ${metadata.name}`)
      uses.set(name, metadata.name)
    }
  for (const name of listed) {
    const { status } = await the.get.customization(name)
    const leased = status?.clusterDeploymentRef?.name
    if (leased !== uses.get(name)) wrong.push(`${name} is leased to ${leased} and used by ${uses.get(name)}`)
  }
  return wrong
}

const isFilled = async (the: PoolWorld, pool: string, size: number) => {
  const { status } = await the.get.pool(pool)
  expect(status).toMatchObject({ size, standby: size, ready: 0 })
}

/** Two pools share them. */
const CLUSTERS = repetitions({ deep: 200, slice: 50 })
const [FIRST, SECOND] = [CLUSTERS * 0.6, CLUSTERS * 0.4]

test(
  `two managers that race for one inventory of two pools fill ${CLUSTERS} clusters, and no customization is ever in two`,
  PATIENCE,
  async () => {
    await using the = await poolWorld()
    const transport = await the.plane.transport()
    const observer = await startObserver(transport, the.namespace)
    const listed = names(CLUSTERS)
    await the.customize(listed)
    const both = [await the.start({ log: false }), await the.start({ log: false })]
    // Two pools list all of them: what one takes the other can't have.
    await the.pool('one', { size: FIRST, inventory: listed })
    await the.pool('two', { size: SECOND, inventory: listed })
    await eventually(async () => {
      await isFilled(the, 'one', FIRST)
      await isFilled(the, 'two', SECOND)
    }, LONG)
    expect(observer.twice).toEqual([])
    expect(observer.seen()).toBeGreaterThanOrEqual(CLUSTERS)
    expect(await whatIsWrong(the, ['one', 'two'], listed)).toEqual([])
    await Promise.all(both.map((manager) => manager.stop()))
    await observer.stop()
    await transport.close()
  },
)

test('the same when one request in ten is cut, before or after the API server has done it', PATIENCE, async () => {
  const plane = await sharedControlPlane()
  await using the = await poolWorld()
  await using proxy = await plane.proxy()
  const transport = await plane.transport()
  const observer = await startObserver(transport, the.namespace)
  const listed = names(30)
  await the.customize(listed)
  const { server } = proxy
  const both = [await the.start({ server, log: false }), await the.start({ server, log: false })]
  proxy.decide(({ method }): Fate => {
    if (method === 'GET' || randomInt(10) > 0) return 'pass'
    return randomInt(2) === 0 ? 'drop' : 'lose'
  })
  await the.pool('one', { size: 18, inventory: listed })
  await the.pool('two', { size: 12, inventory: listed })
  await eventually(async () => {
    await isFilled(the, 'one', 18)
    await isFilled(the, 'two', 12)
  }, LONG)
  expect(observer.twice).toEqual([])
  proxy.decide(() => 'pass')
  await eventually(async () => expect(await whatIsWrong(the, ['one', 'two'], listed)).toEqual([]))
  await Promise.all(both.map((manager) => manager.stop()))
  await observer.stop()
  await transport.close()
})

/** Manager after manager dies in the middle of its work; what is left undone then is for the next one. */
test.for([
  { managers: 1, fate: 'lose', when: 'at every write before its answer' },
  { managers: 2, fate: 'pass', when: 'right after every write' },
] as const)(
  '$managers at once, killed $when while a pool is filled, claimed and deleted: the next one finishes or undoes it',
  PATIENCE,
  async ({ managers, fate }) => {
    await using the = await poolWorld()
    const transport = await the.plane.transport()
    const observer = await startObserver(transport, the.namespace)
    const listed = ['a', 'b', 'c']
    await the.customize(listed)
    const lines = await Promise.all(Array.from({ length: managers }, () => startMortals(the, fate)))

    await the.pool('pool', { size: 1, runningCount: 1, inventory: listed })
    await eventually(async () => expect((await the.get.pool('pool')).status).toMatchObject({ size: 1, ready: 1 }), LONG)
    await the.claim('mine', 'pool', { subjects: [{ kind: 'User', name: 'ann' }] })
    await eventually(async () => {
      const { status } = await the.get.claim('mine')
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'ClusterRunning', status: 'True' }))
      expect((await the.get.pool('pool')).status).toMatchObject({ size: 1, ready: 1, claimed: 1 })
      expect(await whatIsWrong(the, ['pool'], listed)).toEqual([])
    }, LONG)
    await the.api.delete(ClusterClaim, 'mine', the.namespace)
    await the.api.delete(ClusterPool, 'pool', the.namespace)
    await eventually(async () => expect(await the.api.get(ClusterPool, 'pool', the.namespace)).toBeUndefined(), LONG)

    await Promise.all(lines.map((line) => line.end()))
    expect(observer.twice).toEqual([])
    // Fewer would mean that the kills were not where the writes are.
    expect(lines.reduce((sum, line) => sum + line.deaths(), 0)).toBeGreaterThan(20)
    expect(await the.clusters('pool')).toEqual([])
    for (const name of listed) {
      const { metadata, status } = await the.get.customization(name)
      expect([name, metadata.finalizers, status?.clusterDeploymentRef]).toEqual([name, undefined, undefined])
    }
    await observer.stop()
    await transport.close()
  },
)

/** How often the write of one thing kills. Some are done again by every manager that finishes what another one began: none would ever get further. */
const DEATHS_PER_WRITE = 2

/**
 * Managers one after the other: each one's first write that has not killed often enough is its last, and the next one starts.
 *
 * @param fate of that write: done and answered, or done and its answer lost
 */
const startMortals = async (the: PoolWorld, fate: Fate) => {
  const proxy = await the.plane.proxy()
  const deaths = new Map<string, number>()
  let isEnding = false
  let wake = () => {}
  const lives = async () => {
    while (!isEnding) {
      const death = Promise.withResolvers<void>()
      wake = death.resolve
      let isDead = false
      proxy.decide(({ method, path }) => {
        // Events are for people; nothing depends on them.
        if (method === 'GET' || path.includes('/events')) return 'pass'
        if (isDead) return 'drop'
        const write = `${method} ${path.split('?', 1)[0]}`
        const before = deaths.get(write) ?? 0
        if (before >= DEATHS_PER_WRITE) return 'pass'
        deaths.set(write, before + 1)
        isDead = true
        death.resolve()
        return fate
      })
      const manager = await the.start({ server: proxy.server, log: false })
      await death.promise
      await manager.stop()
    }
  }
  const ended = lives()
  return {
    deaths: () => [...deaths.values()].reduce((sum, count) => sum + count, 0),
    end: async () => {
      isEnding = true
      wake()
      await ended
      await proxy.stop()
    },
  }
}
