/** The contract of every source of resources, on the APIs that it is for. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { parseSettings } from '#controllers/sentinel/settings.ts'
import { openConnection } from '#controllers/sentinel/source/connection.ts'
import type { SourceChange } from '#controllers/sentinel/source/source.ts'
import { createHyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { type ManualClock, manualClock } from '#test/harness/index.ts'
import { startPeerDialect } from '#test/harness/peer-dialect.ts'
import { startHyperFleet } from './hyperfleet.ts'
import { PATIENCE } from './world.ts'

/** An API under a source: resources named by short names, and a way to break it. */
interface Backend {
  readonly url: string
  create(name: string): Promise<string>
  patch(id: string): Promise<void>
  remove(id: string): Promise<void>
  break(): void
  repair(): void
  stop(): Promise<void>
}

const own = async (clock: ManualClock, plain: boolean): Promise<Backend> => {
  const api = await startHyperFleet(clock, [{ kind: 'Cluster', plural: 'clusters', required_adapters: [] }])
  api.plain = plain
  return {
    url: api.url,
    create: (name) => api.create(name),
    patch: (id) => api.patch(id),
    remove: (id) => api.delete(id),
    break: () => {
      api.fault = () => 'cut'
      api.cutStreams()
    },
    repair: () => {
      api.fault = () => undefined
    },
    stop: async () => {
      await api[Symbol.asyncDispose]()
    },
  }
}

const peer = async (clock: ManualClock, search: boolean): Promise<Backend> => {
  const api = await startPeerDialect({ clock, search })
  return {
    url: api.url,
    create: async (name) => api.create('clusters', { id: name }).id,
    patch: async (id) => api.patch(id),
    remove: async (id) => api.remove(id),
    break: () => {
      api.fault = () => ({ status: 503 })
    },
    repair: () => {
      api.fault = () => undefined
    },
    stop: () => api.stop(),
  }
}

const CASES: readonly [string, 'Watch' | 'Poll', (clock: ManualClock) => Promise<Backend>][] = [
  ['the watch stream of our API', 'Watch', (clock) => own(clock, false)],
  ['polling our API', 'Poll', (clock) => own(clock, true)],
  ['polling an API of the field', 'Poll', (clock) => peer(clock, true)],
  ['polling an API that can’t search', 'Poll', (clock) => peer(clock, false)],
]

describe.for(CASES)('%s', ([, kind, start]) => {
  let clock: ManualClock
  let backend: Backend
  let stop: AbortController

  beforeEach(async () => {
    clock = manualClock()
    backend = await start(clock)
    stop = new AbortController()
  })
  afterEach(async () => {
    stop.abort()
    await backend.stop()
  })

  /** Reads a source and keeps what it told, as the loop does. */
  const follow = async () => {
    const spec = { resourceType: 'clusters', hyperfleetAPI: { url: backend.url } } as SentinelConfigSpec
    const config = parseSettings(spec)
    const api = createHyperFleetClient({ url: config.url, timeout: 2_000, userAgent: 'test', clock })
    const polling = { clock, pollInterval: () => 5_000, dueQuery: () => undefined }
    const { source } = await openConnection(api, config, polling, stop.signal)
    const known = new Map<string, number>()
    let unseen = new Set<string>()
    let sweeps = 0
    const apply = (change: SourceChange) => {
      switch (change.kind) {
        case 'pollBegan':
          if (change.isSweep) unseen = new Set(known.keys())
          break
        case 'items':
          for (const item of change.items as { id: string; generation: number }[]) {
            known.set(item.id, item.generation)
            unseen.delete(item.id)
          }
          break
        case 'deleted':
          known.delete(change.id)
          break
        case 'sweepEnded':
          sweeps++
          for (const id of unseen) known.delete(id)
          break
        case 'upToDate':
          break
      }
    }
    const read = async () => {
      for await (const change of source.changes(stop.signal)) apply(change)
    }
    return { source, told: known, read, sweeps: () => sweeps }
  }

  /** Lets poll intervals pass until it holds. */
  const eventually = (holds: () => void) =>
    vi.waitFor(async () => {
      await clock.advance('5s')
      holds()
    }, PATIENCE)

  // SENTINEL-19
  test('tells everything first, and says when that was all', async () => {
    const ids = await Promise.all(Array.from({ length: 120 }, (_, number) => backend.create(`cluster-${number}`)))
    const { source, told, read, sweeps } = await follow()
    const reading = read().catch((error: unknown) => error)
    await vi.waitFor(() => expect(sweeps()).toBe(1), PATIENCE)
    expect(source.kind).toBe(kind)
    expect(new Set(told.keys())).toEqual(new Set(ids))
    stop.abort()
    await reading
  })

  test('tells what is created, changed and removed later', async () => {
    const first = await backend.create('first')
    const { told, read, sweeps } = await follow()
    const reading = read().catch((error: unknown) => error)
    await vi.waitFor(() => expect(sweeps()).toBe(1), PATIENCE)
    const second = await backend.create('second')
    await backend.patch(first)
    await eventually(() => expect([told.get(first), told.get(second)]).toEqual([2, 1]))
    await backend.remove(second)
    await eventually(() => expect(told.has(second)).toBe(false))
    stop.abort()
    await reading
  })

  // SENTINEL-20
  test('looks at everything again every ten minutes', async () => {
    await backend.create('first')
    const { read, sweeps } = await follow()
    const reading = read().catch((error: unknown) => error)
    await vi.waitFor(() => expect(sweeps()).toBe(1), PATIENCE)
    const before = sweeps()
    await clock.advance('10m')
    await eventually(() => expect(sweeps()).toBeGreaterThan(before))
    stop.abort()
    await reading
  })

  test('fails when the API is away, and tells what was missed when it is asked again', async () => {
    const first = await backend.create('first')
    const { told, read, sweeps } = await follow()
    const broken = expect(read()).rejects.toBeInstanceOf(HyperFleetError)
    await vi.waitFor(() => expect(sweeps()).toBe(1), PATIENCE)
    backend.break()
    await clock.advance('5s')
    await broken
    await backend.patch(first)
    backend.repair()
    const reading = read().catch((error: unknown) => error)
    await eventually(() => expect(told.get(first)).toBe(2))
    stop.abort()
    await reading
  })

  test('ends with the signal’s reason', async () => {
    const { read, sweeps } = await follow()
    const reading = read().catch((error: unknown) => error)
    await vi.waitFor(() => expect(sweeps()).toBe(1), PATIENCE)
    const reason = new Error('enough')
    stop.abort(reason)
    expect(await reading).toBe(reason)
  })
})
