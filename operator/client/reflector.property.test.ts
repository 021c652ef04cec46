/** Whatever order a server tells its history in: what a reflector knows in the end, and what it tells on the way. */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { repetitions } from '#test/harness/deep.ts'
import type { Clock } from '../model/clock.ts'
import { toMilliseconds } from '../model/duration.ts'
import { silent } from '../model/log.ts'
import { defineResource, type KubeObject } from '../model/resource.ts'
import { CacheBudget } from './cache-budget.ts'
import { ApiError, NetworkError } from './errors.ts'
import { reflect } from './reflector.ts'
import type { ReflectorEvent } from './synced-store.ts'
import type { ApiRequest, StreamRequest, Transport } from './transport.ts'

const PODS = defineResource<unknown>({
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  scope: 'Namespaced',
  subresources: [],
}) as never

const NAMES = ['a', 'b', 'c'] as const

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubeObject
}
const versionOf = ({ object }: Change): number => Number(object.metadata.resourceVersion)

interface Step {
  readonly name: string
  readonly does: 'modify' | 'delete' | 'replace'
}

/**
 * Each step is the next resourceVersion. A step that the object does not allow makes it anew.
 * @param before what the history goes on from
 */
const historyOf = (steps: readonly Step[], before: readonly Change[] = []): readonly Change[] => {
  const history = [...before]
  const uids = new Map(stateAt(before, before.length).map(({ metadata: { name, uid } }) => [name, uid]))
  // No two histories have an object or a state in common but those that they begin with.
  const branch = `${before.length}-`
  for (const { name, does } of steps) {
    const known = uids.get(name)
    const version = history.length + 1
    const uid = known ?? `${name}${branch}${version}`
    const type = known === undefined ? 'ADDED' : does === 'modify' ? 'MODIFIED' : 'DELETED'
    if (type === 'DELETED') uids.delete(name)
    else uids.set(name, uid)
    const metadata = { name, namespace: 'n', uid, resourceVersion: String(version) }
    history.push({ type, object: { apiVersion: 'v1', kind: 'Pod', metadata, spec: { branch } } })
  }
  return history
}

const stateAt = (history: readonly Change[], version: number): KubeObject[] => {
  const objects = new Map<string, KubeObject>()
  for (const change of history.slice(0, version)) {
    if (change.type === 'DELETED') objects.delete(change.object.metadata.name)
    else objects.set(change.object.metadata.name, change.object)
  }
  return [...objects.values()].toSorted((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
}

/** How one request is answered. */
interface Manner {
  /** Of a WatchList: where it belongs; before the last objects; with a version that was passed already; or not at all. */
  readonly mark: 'right' | 'early' | 'low' | 'none'
  /** How many of the newest changes its server does not have yet. A consistent list has them all. */
  readonly lag: number
  /** How many changes more there are before it answers. */
  readonly grows: number
  /** Changes that it tells once more: their numbers from the end. */
  readonly repeats: readonly number[]
  /** Tells its changes in this order instead of theirs. */
  readonly order: readonly number[]
  readonly ends: 'well' | 'cut' | 'expired'
}
const RIGHT: Manner = { mark: 'right', lag: 0, grows: Number.POSITIVE_INFINITY, repeats: [], order: [], ends: 'well' }
/** All is told, then it goes down to be restored. */
const KILLED: Manner = { ...RIGHT, ends: 'cut' }

/** A server that was restored: from which version on its history is another one, and how it answers from then on. */
interface Restored {
  readonly history: readonly Change[]
  readonly at: number
  readonly manners: readonly Manner[]
  readonly done: () => void
}

/** A server with this history that answers in these manners, then rightly; or is restored instead. */
class UnsteadyServer implements Transport {
  readonly server = 'https://unsteady'
  #history: readonly Change[]
  #manners: Manner[]
  #restored: Restored | undefined
  /** No server has the version 0. */
  #now = 1
  /** Of the list that was complete last: what came before it is not repeated. */
  #listedAt = 0
  isDone = false

  constructor(history: readonly Change[], manners: readonly Manner[], restored?: Restored) {
    this.#history = history
    this.#manners = [...manners]
    this.#restored = restored
  }

  async request<T>({ query = {} }: ApiRequest): Promise<T> {
    const only = /^metadata.namespace=n,metadata.name=(.*)$/.exec(String(query.fieldSelector))?.[1]
    if (query.limit === 1 || only !== undefined) {
      const items = stateAt(this.#history, this.#now).filter(({ metadata }) => metadata.name === only)
      return { items, metadata: { resourceVersion: String(this.#now) } } as T
    }
    const token = query.continue === undefined ? undefined : JSON.parse(String(query.continue))
    // Each page is of another time: the state of the one before it is forgotten.
    if (token !== undefined && token.version !== undefined) {
      this.#next()
      const status = {
        kind: 'Status',
        code: 410,
        metadata: { continue: JSON.stringify({ after: token.after }) },
      } as const
      throw new ApiError(status)
    }
    if (token === undefined) this.#next()
    const version = this.#now
    if (token === undefined) this.#listedAt = version
    const rest = stateAt(this.#history, version).filter(({ metadata }) => metadata.name > (token?.after ?? ''))
    const [first] = rest
    const more = rest.length > 1 && { continue: JSON.stringify({ after: first?.metadata.name, version }) }
    return { items: rest.slice(0, 1), metadata: { resourceVersion: String(version), ...more } } as T
  }

  async *stream({ query = {}, onOpen, signal }: StreamRequest): AsyncGenerator<Buffer> {
    const manner = this.#next()
    const version = Math.max(1, this.#now - manner.lag)
    if (manner.ends === 'expired') throw new ApiError({ kind: 'Status', code: 410 })
    onOpen?.()
    for (const line of this.#lines(manner, version, query.resourceVersion)) yield Buffer.from(JSON.stringify(line))
    if (manner === KILLED) this.#restore()
    if (manner.ends === 'cut') throw new NetworkError('GET /pods', new Error('cut'))
    if (manner !== RIGHT) return
    this.isDone = true
    await new Promise((resolve) => signal?.addEventListener('abort', resolve))
  }

  async close(): Promise<void> {}

  #restore(): void {
    const restored = this.#restored
    if (restored === undefined) return
    this.#restored = undefined
    this.#history = restored.history
    this.#manners = [...restored.manners]
    this.#now = restored.at
    this.#listedAt = restored.history.length
    restored.done()
  }

  #next(): Manner {
    const manner = this.#manners.shift() ?? (this.#restored === undefined ? RIGHT : KILLED)
    this.#now = Math.min(this.#history.length, this.#now + manner.grows)
    return manner
  }

  *#lines(manner: Manner, version: number, from: unknown): Generator<object> {
    if (from !== undefined) {
      yield* this.#changes(manner, Number(from), version)
      return
    }
    const state = stateAt(this.#history, version).map((object) => ({ type: 'ADDED', object }))
    const { mark } = manner
    if (mark === 'early') {
      yield* state.slice(0, 1)
      yield markOf(version)
      yield* state.slice(1)
    } else yield* state
    if (mark === 'right') yield markOf(version)
    if (mark === 'low')
      yield markOf(Math.max(1, ...state.map(({ object }) => Number(object.metadata.resourceVersion) - 1)))
    if (mark === 'none') return
    this.#listedAt = version
    yield* this.#changes(manner, version, this.#now)
  }

  /** What came after one version up to another, in the manner's order, between changes that were told before. */
  *#changes({ repeats, order }: Manner, after: number, upTo: number): Generator<Change> {
    const told = this.#history.slice(this.#listedAt, upTo)
    const fresh = this.#history.slice(after, upTo)
    const shuffled = fresh
      .map((change, index) => ({ change, at: order[index % order.length] ?? index }))
      .toSorted((left, right) => left.at - right.at)
    for (const { change } of shuffled) {
      yield change
      for (const number of repeats) {
        const again = told.at(-1 - number)
        // One that is to come is not repeated yet.
        if (again !== undefined && versionOf(again) <= versionOf(change)) yield again
      }
    }
  }
}

const markOf = (version: number) => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } } },
})

/** Every wait is over at the next turn. */
const hurriedClock = (): Clock => {
  let now = 0
  return {
    now: () => new Date(now),
    monotonic: () => now,
    sleep: async (duration, signal) => {
      await turn()
      if (!signal?.aborted) now += toMilliseconds(duration)
    },
  }
}

/** Follows what is told, as a controller does. @throws Error where it can't be true */
const follow = () => {
  const there = new Map<string, KubeObject['metadata']>()
  const newest = new Map<string, number>()
  let goesBack = false
  return {
    there,
    /** From now on an object may be told as it was before: the server's data were restored. */
    mayGoBack: () => {
      goesBack = true
    },
    tell(event: ReflectorEvent<KubeObject>): void {
      if (event.type === 'synced') return
      const { metadata } = event.object
      const { uid, name, resourceVersion } = metadata
      const known = there.get(name)
      const text = `${event.type} ${uid}@${resourceVersion}, known: ${known?.uid}@${known?.resourceVersion}`
      const isKnown = event.type === 'modified' || event.type === 'deleted'
      if (isKnown !== (known !== undefined) || (isKnown && known?.uid !== uid)) throw new Error(text)
      if (!goesBack && Number(resourceVersion) < (newest.get(uid) ?? 0)) throw new Error(`back: ${text}`)
      if (event.type === 'modified' && event.old.metadata.resourceVersion !== known?.resourceVersion)
        throw new Error(`old: ${text}`)
      newest.set(uid, Number(resourceVersion))
      if (event.type === 'deleted') there.delete(name)
      else there.set(name, metadata)
    },
  }
}

const step = fc.record({
  name: fc.constantFrom(...NAMES),
  does: fc.constantFrom('modify' as const, 'delete' as const, 'delete' as const),
})
const manner: fc.Arbitrary<Manner> = fc.record({
  mark: fc.constantFrom('right' as const, 'right' as const, 'early' as const, 'low' as const, 'none' as const),
  lag: fc.constantFrom(0, 0, 1, 5),
  grows: fc.nat(8),
  repeats: fc.array(fc.nat(10), { maxLength: 3 }),
  order: fc.array(fc.nat(5), { maxLength: 6 }),
  ends: fc.constantFrom('well' as const, 'cut' as const, 'expired' as const),
})

const steps = fc.array(step, { minLength: 1, maxLength: 40 })
const manners = fc.array(manner, { maxLength: 8 })
const initialList = fc.constantFrom('stream' as const, 'pages' as const)

/** Follows a server until all is as its history ends. @throws Error where it is not, or what was told can't be true */
const expectAll = async (
  server: UnsteadyServer,
  history: readonly Change[],
  { there, tell }: ReturnType<typeof follow>,
  initialList: 'stream' | 'pages',
): Promise<void> => {
  const stop = new AbortController()
  const wrong: unknown[] = []
  const { store, stopped } = reflect<KubeObject>(server, PODS, {
    clock: hurriedClock(),
    log: silent,
    signal: stop.signal,
    random: () => 0,
    initialList,
    budget: new CacheBudget(1_000_000),
    onEvent: (event) => {
      try {
        tell(event)
      } catch (error) {
        wrong.push(error)
      }
    },
  })
  const states = (objects: Iterable<KubeObject>) =>
    [...objects].map(({ metadata, spec }) => JSON.stringify([metadata.uid, metadata.resourceVersion, spec])).toSorted()
  try {
    await vi.waitUntil(() => server.isDone, { interval: 1 })
    expect(wrong).toEqual([])
    expect(states(store.values())).toEqual(states(stateAt(history, history.length)))
    expect([...there.values()].map(({ uid }) => uid).toSorted()).toEqual(
      [...store.values()].map(({ metadata }) => metadata.uid).toSorted(),
    )
  } finally {
    stop.abort()
    await stopped
  }
}

// RUNTIME-33, RUNTIME-74
test('however lists and changes come, the store ends as the server is, and each object is told from its first state to its end', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(steps, manners, initialList, async (all, before, how) => {
      const history = historyOf(all)
      await expectAll(new UnsteadyServer(history, before), history, follow(), how)
    }),
    { numRuns: repetitions({ slice: 300, deep: 10_000 }) },
  )
})

type RestoreHistory = [
  all: Step[],
  before: Manner[],
  restore: { back: number; since: Step[]; heard: number; manners: Manner[] },
  initialList: 'stream' | 'pages',
]

/** The restored server has two changes when it is asked, and begins its list with the first alone. */
const OLD_LIST: RestoreHistory = [
  ['a', 'b', 'b', 'a', 'a', 'a'].map((name) => ({ name, does: 'modify' }) as Step),
  [],
  {
    back: 4,
    since: [{ name: 'a', does: 'modify' }],
    heard: 0,
    manners: [{ mark: 'right', lag: 5, grows: 1, repeats: [], order: [], ends: 'well' }],
  },
  'stream',
]

/** The restored server says that its list is complete before it shows an object, which is older than it was known to be. */
const EARLY_MARK: RestoreHistory = [
  ['b', 'b', 'a'].map((name) => ({ name, does: 'modify' }) as Step),
  [],
  {
    back: 2,
    since: ['a', 'c'].map((name) => ({ name, does: 'modify' }) as Step),
    heard: 0,
    manners: [{ mark: 'early', lag: 0, grows: 2, repeats: [], order: [], ends: 'well' }],
  },
  'stream',
]

// RUNTIME-72
test('a server that is restored to whatever moment, and has however many changes since, is followed as it is then', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      manners,
      fc.record({ back: fc.nat(40), since: steps, heard: fc.nat(40), manners }),
      initialList,
      async (all, before, { back, since, heard, manners: after }, how) => {
        const history = historyOf(all)
        const kept = Math.max(1, history.length - back)
        const restored = historyOf(since, history.slice(0, kept))
        const told = follow()
        const at = Math.min(restored.length, kept + heard)
        const done = () => told.mayGoBack()
        const server = new UnsteadyServer(history, before, { history: restored, at, manners: after, done })
        await expectAll(server, restored, told, how)
      },
    ),
    {
      numRuns: repetitions({ slice: 300, deep: 10_000 }),
      examples: [OLD_LIST, EARLY_MARK],
    },
  )
})
