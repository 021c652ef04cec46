/** What the load generator knows of every gadget by its own watch. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '#operator/model/resource.ts'
import type { GadgetSpec, GadgetStatus } from '../gadget.ts'
import type { ApiServer } from './client.ts'
import { moment } from './moment.ts'

type GadgetObject = KubeObject<GadgetSpec, GadgetStatus>

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: GadgetObject
}

/** The generation last reported Ready, and when the watch showed it. */
interface Seen {
  readonly generation: number
  readonly at: number
}

interface Waiter {
  /** The generation to wait for; 'gone' for the deletion. */
  readonly until: number | 'gone'
  readonly resolve: (at: number) => void
  readonly reject: (error: unknown) => void
}

export interface Tracked {
  names(): readonly string[]
  has(name: string): boolean
  /** The moment at which the gadget was seen Ready for this generation or a later one. Rejects when the watch ends. */
  served(name: string, generation: number): Promise<number>
  readonly gone: (name: string) => Promise<number>
  /** Resolves when no event has come for so many milliseconds. */
  readonly quiet: (milliseconds: number) => Promise<void>
}

/** The generation that the gadget is Ready for, 0 when it is not. */
const readyGeneration = ({ status }: GadgetObject): number =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True')
    ? (status.observedGeneration ?? 0)
    : 0

/** Watches a collection from now on, until the signal aborts. The collection must be empty. */
export const track = async (server: ApiServer, collection: string, signal: AbortSignal): Promise<Tracked> => {
  const gadgets = new Map<string, Seen>()
  const waiters = new Map<string, Waiter[]>()
  let resourceVersion = ''
  let lastEvent = moment()
  let failure: unknown

  const resolveWaiters = (name: string, at: number, isDone: (until: Waiter['until']) => boolean): void => {
    const waiting = waiters.get(name)
    if (waiting === undefined) return
    const left = waiting.filter((waiter) => {
      if (!isDone(waiter.until)) return true
      waiter.resolve(at)
      return false
    })
    if (left.length === 0) waiters.delete(name)
    else waiters.set(name, left)
  }

  const onLine = (line: string): void => {
    const { type, object } = JSON.parse(line) as WatchEvent
    if (type === 'ERROR') throw new Error(`the load generator's watch failed: ${line}`)
    resourceVersion = object.metadata.resourceVersion
    if (type === 'BOOKMARK') return
    const at = moment()
    lastEvent = at
    const { name } = object.metadata
    if (type === 'DELETED') {
      gadgets.delete(name)
      resolveWaiters(name, at, (until) => until === 'gone')
      return
    }
    const generation = readyGeneration(object)
    const before = gadgets.get(name)
    if (before === undefined || generation > before.generation) gadgets.set(name, { generation, at })
    resolveWaiters(name, at, (until) => until !== 'gone' && generation >= until)
  }

  const list = (await server.request('GET', `${collection}?limit=1`)) as { metadata: { resourceVersion: string } }
  resourceVersion = list.metadata.resourceVersion
  const watch = async (): Promise<never> => {
    for (;;) {
      // A busy API server cuts watchers that fall behind; the next one continues where this one ended.
      const query = new URLSearchParams({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion })
      await server.lines(`${collection}?${query.toString()}`, onLine, signal)
    }
  }
  watch().catch((reason: unknown) => {
    failure = reason
    for (const { reject } of [...waiters.values()].flat()) reject(reason)
    waiters.clear()
  })

  const wait = (name: string, until: Waiter['until']): Promise<number> =>
    new Promise((resolve, reject) => {
      if (failure !== undefined) return reject(failure)
      waiters.set(name, [...(waiters.get(name) ?? []), { until, resolve, reject }])
    })

  return {
    names: () => [...gadgets.keys()],
    has: (name) => gadgets.has(name),
    served: async (name, generation) => {
      const now = gadgets.get(name)
      return now !== undefined && now.generation >= generation ? now.at : wait(name, generation)
    },
    gone: async (name) => (gadgets.has(name) ? wait(name, 'gone') : moment()),
    quiet: async (milliseconds) => {
      for (let left = milliseconds; left > 0; left = lastEvent + milliseconds - moment()) await sleep(left)
    },
  }
}
