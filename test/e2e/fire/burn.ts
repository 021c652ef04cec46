/** Carries the plan of a fire out. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Fate } from '#test/harness/index.ts'
import { type Server, type Strike, type TimedStrike, told } from './strikes.ts'
import type { FireWorld } from './world.ts'

const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
/** What may be refused with 409: a conflict is about what is there already. */
const CHANGES = new Set(['PUT', 'PATCH', 'DELETE'])

/** How many of the writes a storm hits: all of them would be an outage, which is another strike. */
const SHARE = 0.6

/** Until the last strike has been made good: every server serves again, every process works. @param ends the fire before its time */
export const burn = async (world: FireWorld, strikes: readonly TimedStrike[], ends: () => boolean): Promise<void> => {
  const { suite, timeline } = world
  const begin = performance.now()
  let conflictsUntil = 0
  let lostUntil = 0
  let writes = 0
  suite.proxy.decide(({ method }): Fate => {
    const now = performance.now()
    const isHit = WRITES.has(method) && (++writes * SHARE) % 1 < SHARE
    if (isHit && CHANGES.has(method) && now < conflictsUntil) return { status: 409 }
    return isHit && now < lostUntil ? 'lose' : 'pass'
  })
  const lives = new Map<string, Promise<void>>()
  /** One life after the other: a process that never comes to work meets no fault worth finding, and on a busy machine that takes seconds. */
  const inTurn = (name: string, end: () => Promise<void>): Promise<void> => {
    const turn = (lives.get(name) ?? Promise.resolve()).then(end)
    lives.set(name, turn)
    return turn
  }
  const strike = async (what: Strike): Promise<void> => {
    switch (what.what) {
      case 'Kill':
      case 'Restart': {
        const process = suite.process(what.process)
        return inTurn(what.process, async () => {
          await process.ready()
          timeline.note(told(what))
          await (what.what === 'Kill' ? process.kill() : process.restart())
        })
      }
      case 'Crash':
        // An API server does not start without etcd.
        return inTurn(what.server === 'etcd' ? 'kube-apiserver' : what.server, () => {
          timeline.note(told(what))
          return crash(world, what.server)
        })
      case 'Conflicts':
        timeline.note(told(what))
        conflictsUntil = performance.now() + what.milliseconds
        return
      case 'LostAnswers':
        timeline.note(told(what))
        lostUntil = performance.now() + what.milliseconds
        return
      case 'CutWatches':
        timeline.note(told(what))
        return suite.proxy.cut()
    }
  }
  const struck: Promise<void>[] = []
  for (const { at, strike: what } of strikes) {
    await delay(Math.max(0, begin + at - performance.now()))
    if (ends()) break
    struck.push(strike(what))
  }
  await Promise.all(struck)
  suite.proxy.decide(() => 'pass')
  for (const process of suite.processes.values()) await process.ready()
  timeline.note('the fire is out')
}

const crash = async ({ cluster, suite, argo }: FireWorld, server: Server): Promise<void> => {
  switch (server) {
    case 'kube-apiserver':
    case 'etcd':
      return cluster.restart(server)
    case 'nats':
      return suite.nats.restart()
    case 'postgres':
      return suite.postgres?.restart()
    default:
      // It is revived as by a kubelet.
      return argo.kill(server)
  }
}
