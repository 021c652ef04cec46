/** The rules of docs/spec/sentinel.md, on a real API server and our real HyperFleet API, with a clock that the tests move. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LEASES } from '#operator/client/lease-record.ts'
import { type ManualClock, manualClock } from '#test/harness/index.ts'
import { type HyperFleetApi, startHyperFleet } from './hyperfleet.ts'
import { PATIENCE, type RunningSentinel, type SentinelWorld, sentinelWorld } from './world.ts'

let clock: ManualClock
let world: SentinelWorld
let api: HyperFleetApi

beforeEach(async () => {
  clock = manualClock()
  api = await startHyperFleet(clock, [
    { kind: 'Cluster', plural: 'clusters', required_adapters: ['validation'] },
    { kind: 'Channel', plural: 'channels' },
    { kind: 'Version', plural: 'versions', parent_kind: 'Channel', required_adapters: ['validation'] },
  ])
  world = await sentinelWorld()
})

afterEach(async () => {
  await world[Symbol.asyncDispose]()
  await api[Symbol.asyncDispose]()
})

const declare = (name: string, spec: object = {}) =>
  world.declare(name, { resourceType: 'clusters', hyperfleetAPI: { url: api.url }, ...spec })

const region = (value: string) => ({ shardSelector: { matchLabels: { region: value } } })

/** Claimed slots look at each other every few seconds, by the machine's time. */
const LONG = { timeout: 60_000, interval: 50 }

/** Long enough for a wrong pulse to come. */
const quiet = () => new Promise((resolve) => setTimeout(resolve, 60))

/** Waits until the Sentinel has this many resources of each state in its status. */
const counted = (name: string, counts: { ready?: number; notReady?: number }) =>
  vi.waitFor(async () => expect((await world.config(name)).status).toMatchObject(counts), PATIENCE)

/** Waits until the Sentinel knows that so many of its pulses have landed: what it stops before, its successor pulses again. */
const landed = (pulses: number) =>
  vi.waitFor(async () => expect((await world.config('all')).status).toMatchObject({ pulses }), PATIENCE)

/** A cluster that was reported ready or not, and is known to the Sentinel `all` so. */
const reported = async (name: string, available: 'True' | 'False') => {
  const id = await api.create(name)
  await api.expect(`${name} New`)
  await api.report(id, available)
  await counted('all', available === 'True' ? { ready: 1 } : { notReady: 1 })
  await quiet()
  return id
}

// SENTINEL-37
test('with backoffNotReadyMax each pulse that no report follows doubles the wait, less a fifth at most; what is new does not wait', async () => {
  await declare('all', { backoffNotReadyMax: '1m' })
  await world.start(clock)
  await world.until('all', 'Watching')
  const id = await reported('one', 'False')
  const pulsedWithin = async (seconds: number) => {
    await clock.advance(`${(seconds * 4) / 5 - 1}s`)
    await quiet()
    await api.expect()
    await clock.advance(`${seconds / 5 + 1}s`)
    await api.expect('one NotReadyBackoffExpired')
  }
  for (const seconds of [10, 20, 40, 60, 60]) await pulsedWithin(seconds)
  await api.create('new')
  await api.expect('new New')
  await api.patch(id)
  await api.expect('one SpecChanged')
})

describe('backoff', () => {
  beforeEach(async () => {
    await declare('all')
    await world.start(clock)
    await world.until('all', 'Watching')
  })

  // SENTINEL-1
  test('a new resource is pulsed at once', async () => {
    await api.create('one')
    await api.expect('one New')
  })

  // SENTINEL-4
  test('a resource that is not ready is pulsed 10 s after its last report, and not before', async () => {
    await reported('one', 'False')
    await clock.advance(9_999)
    await quiet()
    await api.expect()
    await clock.advance(1)
    await api.expect('one NotReadyBackoffExpired')
  })

  test('a ready resource is pulsed 30 min after its last report, and not before', async () => {
    await reported('one', 'True')
    await clock.advance(30 * 60_000 - 1)
    await quiet()
    await api.expect()
    await clock.advance(1)
    await api.expect('one ReadyBackoffExpired')
  })

  // SENTINEL-10
  test('without a report pulses go on once per backoff', async () => {
    await reported('one', 'False')
    for (let beat = 0; beat < 3; beat++) {
      await clock.advance('9s')
      await quiet()
      await api.expect()
      await clock.advance('1s')
      await api.expect('one NotReadyBackoffExpired')
    }
  })

  // SENTINEL-2
  test('a spec change is pulsed at once, also of a ready resource', async () => {
    const id = await reported('one', 'True')
    await api.patch(id)
    await api.expect('one SpecChanged')
    await quiet()
    await api.expect()
  })

  // SENTINEL-3
  test('a deletion is pulsed at once, and again at the pace of what is not ready', async () => {
    const id = await reported('one', 'True')
    await api.delete(id)
    await api.expect('one Deleting')
    await clock.advance('10s')
    await api.expect('one NotReadyBackoffExpired')
  })

  test('a report moves the next pulse', async () => {
    const id = await reported('one', 'False')
    await clock.advance('8s')
    await api.report(id, 'False')
    // Changes come in order: a listener that has heard of the marker has heard of the report.
    await api.create('marker')
    await api.expect('marker New')
    await clock.advance('9s')
    await quiet()
    await api.expect()
    await clock.advance('1s')
    await api.expect('marker NotReadyBackoffExpired', 'one NotReadyBackoffExpired')
  })

  // SENTINEL-13
  test('a pulse carries the trace it begins and the shard it comes from', async () => {
    await api.create('one')
    await vi.waitFor(() => expect(api.pulses).toHaveLength(1), PATIENCE)
    expect(api.pulses[0]?.source).toBe('hyperfleet-sentinel/all')
    expect(api.pulses[0]?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  })

  // SENTINEL-13
  test('a pulse says when the next is meant to come, and the API tells who asks why nothing happens', async () => {
    const later = (milliseconds: number) => clock.now().getTime() + milliseconds
    const id = await api.create('one')
    await vi.waitFor(() => expect(api.pulses).toHaveLength(1), PATIENCE)
    expect(api.pulses[0]?.nextTime).toBe(new Date(later(10_000)).toISOString())
    await api.expect('one New')
    expect(Date.parse((await api.explainedPulses(id)).next?.time ?? '')).toBe(later(10_000))
    // What is ready is looked at more rarely, and the pulse that finds it so says so.
    await api.report(id, 'True')
    await counted('all', { ready: 1 })
    await quiet()
    await clock.advance(30 * 60_000)
    await api.expect('one ReadyBackoffExpired')
    expect(Date.parse((await api.explainedPulses(id)).next?.time ?? '')).toBe(later(30 * 60_000))
  })

  // SENTINEL-11
  test('a resource with a backoff of its own follows it; a bad one is ignored and said', async () => {
    await api.create('slow', { 'sentinel.hyperfleet.io/backoff-not-ready': '45s' })
    await api.create('wrong', { 'sentinel.hyperfleet.io/backoff-not-ready': 'soon' })
    await api.expect('slow New', 'wrong New')
    for (let rounds = 0; rounds < 4; rounds += 1) {
      await clock.advance('10s')
      await api.expect('wrong NotReadyBackoffExpired')
    }
    await clock.advance('5s')
    await api.expect('slow NotReadyBackoffExpired')
  })
})

// SENTINEL-9
test('a kind without adapters is pulsed once per generation, then every backoffReady', async () => {
  await declare('channels', { resourceType: 'channels' })
  await world.start(clock)
  await world.until('channels', 'Watching')
  const id = await api.create('stable', {}, 'channels')
  await api.expect('stable New')
  await clock.advance('29m')
  await quiet()
  await api.expect()
  await clock.advance('1m')
  await api.expect('stable ReadyBackoffExpired')
  await api.patch(id)
  await api.expect('stable SpecChanged')
})

// SENTINEL-3
test.each([true, false])(
  'a kind without adapters is pulsed in its deletion by backoffNotReady; an API that has a watch: %s',
  async (hasWatch) => {
    api.plain = !hasWatch
    await declare('channels', { resourceType: 'channels' })
    const first = await world.start(clock)
    await world.until('channels', hasWatch ? 'Watching' : 'Polling')
    /** A stream tells at once, and a list with the next poll. */
    const told = async (pulse: string) => {
      if (!hasWatch) await clock.advance('5s')
      await api.expect(pulse)
    }
    const id = await api.create('leaving', {}, 'channels')
    await told('leaving New')
    // The deletion of the channel waits for an adapter of what belongs to it.
    await api.createIn(id, 'one')
    await api.delete(id)
    await told('leaving Deleting')
    const beat = async () => {
      await clock.advance('5s')
      await quiet()
      await api.expect()
      await clock.advance('5s')
      await api.expect('leaving NotReadyBackoffExpired')
    }
    for (let beats = 0; beats < 3; beats++) await beat()
    await quiet()
    await first.stop()
    await clock.advance('10s')
    await world.start(clock)
    await api.expect('leaving NotReadyBackoffExpired')
  },
)

describe('shards', () => {
  // SENTINEL-31
  test('several side by side touch only their own resources', async () => {
    await declare('east', region('us-east'))
    await declare('west', region('us-west'))
    await declare('rest', {
      shardSelector: { matchExpressions: [{ key: 'region', operator: 'NotIn', values: ['us-east', 'us-west'] }] },
    })
    for (const config of ['east', 'west', 'rest']) await world.start(clock, { config })
    for (const name of ['east', 'west', 'rest']) await world.until(name, 'Watching')
    await api.create('in-east', { region: 'us-east' })
    await api.create('in-west', { region: 'us-west' })
    await api.create('elsewhere')
    await vi.waitFor(() => expect(api.pulses).toHaveLength(3), PATIENCE)
    expect(new Set(api.pulses.map(({ source }) => source?.split('/')[1]))).toEqual(new Set(['east', 'rest', 'west']))
    await api.expect('elsewhere New', 'in-east New', 'in-west New')
  })

  // SENTINEL-31
  test('a resource that changes its labels changes its shard', async () => {
    await declare('east', region('us-east'))
    await declare('west', region('us-west'))
    await world.start(clock)
    await world.until('east', 'Watching')
    await world.until('west', 'Watching')
    const id = await api.create('mover', { region: 'us-east' })
    await api.expect('mover New')
    await api.relabel(id, { region: 'us-west' })
    await counted('east', { notReady: 0 })
    await counted('west', { notReady: 1 })
    api.pulses.length = 0
    await clock.advance('10s')
    await vi.waitFor(
      () => expect(api.pulses.map(({ source }) => source)).toEqual(['hyperfleet-sentinel/west']),
      PATIENCE,
    )
  })

  // SENTINEL-33
  test('shards of one division pulse every resource exactly once, and one more shard moves only its own part', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, (_, number) => api.create(`cluster-${number}`)))
    for (const index of [0, 1, 2]) await declare(`shard-${index}`, { autoShard: { shards: 3, index } })
    await world.start(clock)
    for (const index of [0, 1, 2]) await world.until(`shard-${index}`, 'Watching')
    const owners = async () => {
      await vi.waitFor(() => expect(api.pulses).toHaveLength(30), PATIENCE)
      const found = new Map(api.pulses.map(({ id, source }) => [id, source?.at(-1)]))
      expect(found.size).toBe(30)
      api.pulses.length = 0
      return found
    }
    const before = await owners()
    await declare('shard-3', { autoShard: { shards: 4, index: 3 } })
    for (const index of [0, 1, 2]) await world.change(`shard-${index}`, { autoShard: { shards: 4, index } })
    await vi.waitFor(async () => {
      for (const index of [0, 1, 2, 3])
        expect((await world.config(`shard-${index}`)).status).toMatchObject({
          shard: `all [${index}/4]`,
          source: 'Watch',
        })
      const counts = await Promise.all(
        [0, 1, 2, 3].map(async (index) => (await world.config(`shard-${index}`)).status?.resources ?? 0),
      )
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(30)
    }, PATIENCE)
    api.pulses.length = 0
    await clock.advance('10s')
    const after = await owners()
    for (const id of ids) expect([before.get(id), '3']).toContain(after.get(id))
  })

  // SENTINEL-35
  test('overlapping shards are told on both, and not any more once they are disjoint', async () => {
    const overlapping = (name: string, status: string) =>
      vi.waitFor(async () => {
        const found = (await world.config(name)).status?.conditions?.find(({ type }) => type === 'Overlapping')
        expect(found?.status).toBe(status)
        return found?.message
      }, PATIENCE)
    await declare('east', region('us-east'))
    await world.start(clock)
    await overlapping('east', 'False')
    await declare('prod', { shardSelector: { matchLabels: { environment: 'prod' } } })
    const both = 'region=us-east'
    expect(await overlapping('east', 'True')).toContain('prod selects the same resources, for example one with')
    expect(await overlapping('prod', 'True')).toContain(both)
    await world.change('prod', { shardSelector: { matchLabels: { environment: 'prod', region: 'us-west' } } })
    await overlapping('east', 'False')
    await overlapping('prod', 'False')
  })

  // SENTINEL-36
  test('resources that no shard selects are counted and named', async () => {
    await api.create('unlabelled')
    await declare('east', region('us-east'))
    const { registry } = await world.start(clock)
    await vi.waitFor(async () => {
      const unowned = (await world.config('east')).status?.conditions?.find(({ type }) => type === 'Unowned')
      expect(unowned).toMatchObject({ status: 'True', reason: 'ResourcesWithoutShard' })
      expect(await registry.metrics()).toContain('hyperfleet_sentinel_unowned_resources{resource_type="clusters"} 1')
    }, PATIENCE)
  })
})

describe('configuration', () => {
  // SENTINEL-28
  test('a change of the backoff applies without restart and without a storm of pulses', async () => {
    await declare('all')
    const { registry } = await world.start(clock)
    await world.until('all', 'Watching')
    await reported('one', 'False')
    await clock.advance('5s')
    await world.change('all', { backoffNotReady: '60s' })
    await vi.waitFor(
      async () =>
        expect(await registry.metrics()).toContain(
          'hyperfleet_sentinel_config_reloads_total{shard="all",resource_type="clusters"} 1',
        ),
      PATIENCE,
    )
    await clock.advance('54s')
    await quiet()
    await api.expect()
    await clock.advance('1s')
    await api.expect('one NotReadyBackoffExpired')
  })

  // SENTINEL-28
  test('a change of the selector applies without restart', async () => {
    await declare('shard', region('us-east'))
    await world.start(clock)
    await world.until('shard', 'Watching')
    await api.create('in-west', { region: 'us-west' })
    await quiet()
    await api.expect()
    await world.change('shard', region('us-west'))
    await api.expect('in-west New')
  })

  // SENTINEL-29
  // SENTINEL-44
  test('without a URL the one of the manager is used; where there is none either, the condition says what to do', async () => {
    await world.declare('all', { resourceType: 'clusters' })
    const homeless = await world.start(clock)
    const { status } = await world.until('all', 'InvalidSpec')
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toBe(
      'spec.hyperfleetAPI.url: is absent: write it, or start the manager with --hyperfleet-api-url; ' +
        'nothing is pulsed until it is corrected',
    )
    await homeless.stop()

    await world.start(clock, { hyperfleetApiUrl: api.url })
    const { spec } = await world.until('all', 'Watching')
    expect(spec.hyperfleetAPI).toBeUndefined()
    await api.create('one')
    await api.expect('one New')
  })

  test('an unknown resource type is told, and tried again', async () => {
    await declare('typo', { resourceType: 'clutsers' })
    await world.start(clock)
    const { status } = await world.until('typo', 'UnknownResourceType')
    expect(status?.conditions?.[0]?.message).toContain('the API serves no clutsers')
    await world.change('typo', { resourceType: 'clusters' })
    await world.until('typo', 'Watching')
  })
})

describe('stopping', () => {
  /** Stops, and proves that nothing had to be abandoned: the runtime gives everything 1.5 s, and says so when that was not enough. */
  const stops = async (running: RunningSentinel) => {
    await running.stop()
    expect(running.lines.filter((line) => line.includes('abandoned'))).toEqual([])
  }
  const asked = (what: string) => vi.waitFor(() => expect(api.requests.join('\n')).toContain(what), PATIENCE)

  // SENTINEL-18
  test('while it follows a quiet stream', async () => {
    await declare('all')
    const running = await world.start(clock)
    await world.until('all', 'Watching')
    await stops(running)
  })

  test('while the API does not answer its first question', async () => {
    api.fault = () => 'hang'
    await declare('all', { hyperfleetAPI: { url: api.url, timeout: '1h' } })
    const running = await world.start(clock)
    await asked('GET /api/hyperfleet/v1/clusters')
    await stops(running)
  })

  test('while pulses are on their way and more are due', async () => {
    for (let number = 0; number < 20; number++) await api.create(`cluster-${number}`)
    api.fault = ({ method }) => (method === 'POST' ? 'hang' : undefined)
    await declare('all', { hyperfleetAPI: { url: api.url, timeout: '1h' } })
    const running = await world.start(clock)
    await asked('POST /api/hyperfleet/v1/events')
    await stops(running)
    expect(api.pulses).toEqual([])
  })

  test('while it waits as long as the API asked it to', async () => {
    api.fault = () => ({ status: 429, retryAfter: '3600' })
    await declare('all')
    const running = await world.start(clock)
    await world.until('all', 'APIUnreachable')
    await stops(running)
  })

  test('while it stands by', async () => {
    await declare('all')
    await world.start(clock)
    await world.until('all', 'Watching')
    const standby = await world.start(manualClock())
    await standby.stop()
    expect(standby.lines.filter((line) => line.includes('abandoned'))).toEqual([])
  })
})

describe('failures', () => {
  // SENTINEL-26
  test('an API that is away is asked again at the next poll interval, and nothing is lost', async () => {
    await declare('all')
    api.fault = () => ({ status: 503 })
    const { registry } = await world.start(clock)
    const { status } = await world.until('all', 'APIUnreachable')
    expect(status?.lastError).toContain('503')
    await api.create('one')
    api.fault = () => undefined
    await clock.advance('5s')
    await api.expect('one New')
    const { status: after } = await world.until('all', 'Watching')
    expect(after?.lastError).toBeUndefined()
    expect(await registry.metrics()).toMatch(
      /api_errors_total\{shard="all",resource_type="clusters",operation="fetch_resources"\} 1/,
    )
  })

  // SENTINEL-17
  test('Retry-After of the API is honoured', async () => {
    await declare('all')
    api.fault = () => ({ status: 429, retryAfter: '60' })
    await world.start(clock)
    await world.until('all', 'APIUnreachable')
    api.fault = () => undefined
    await clock.advance('59s')
    await quiet()
    expect((await world.config('all')).status?.source).toBeUndefined()
    await clock.advance('1s')
    await world.until('all', 'Watching')
  })

  test('a Retry-After of no time is none: the API is asked again at the next poll interval', async () => {
    await declare('all')
    api.fault = () => ({ status: 503, retryAfter: '0' })
    await world.start(clock)
    await world.until('all', 'APIUnreachable')
    await quiet()
    expect(api.requests).toHaveLength(1)
    api.fault = () => undefined
    await clock.advance('5s')
    await world.until('all', 'Watching')
  })

  // SENTINEL-25
  test('a watch stream that breaks is taken up where it was', async () => {
    await declare('all')
    await world.start(clock)
    await world.until('all', 'Watching')
    await reported('one', 'True')
    api.fault = () => 'cut'
    const broken = api.requests.length
    api.cutStreams()
    await world.until('all', 'APIUnreachable')
    await api.create('two')
    api.fault = () => undefined
    await clock.advance('5s')
    await api.expect('two New')
    expect(api.requests.slice(broken).filter((request) => request.includes('resourceVersion='))).not.toEqual([])
  })

  // SENTINEL-15
  test('an event that the API refuses holds up no other, and is sent again', async () => {
    await declare('all')
    const { registry, lines } = await world.start(clock)
    await world.until('all', 'Watching')
    const refused = await reported('refused', 'True')
    api.fault = ({ method, body }) => (method === 'POST' && body.includes(refused) ? { status: 500 } : undefined)
    await api.patch(refused)
    await api.create('taken')
    await api.expect('taken New')
    await vi.waitFor(
      async () =>
        expect(await registry.metrics()).toMatch(
          /api_errors_total\{shard="all",resource_type="clusters",operation="create_event"\} [1-9]/,
        ),
      PATIENCE,
    )
    // SENTINEL-40
    expect(lines.filter((line) => line.startsWith('warn') && line.includes(refused))).not.toEqual([])
    api.fault = () => undefined
    await clock.advance('5s')
    await api.expect('refused SpecChanged')
  })

  // SENTINEL-40
  test('of many events that the API refuses the first ten of a minute are logged, and each is counted', async () => {
    await declare('all')
    const { registry, lines } = await world.start(clock)
    await world.until('all', 'Watching')
    api.fault = ({ method, path }) => (method === 'POST' && path.endsWith('/events') ? { status: 500 } : undefined)
    for (let number = 0; number < 15; number++) await api.create(`c${number}`)
    const refusals = async () => Number(/create_event"} (\d+)/.exec(await registry.metrics())?.[1])
    await vi.waitFor(async () => expect(await refusals()).toBe(15), PATIENCE)
    expect(lines.filter((line) => line.startsWith('warn') && line.includes('/events: 500'))).toHaveLength(10)
  })
})

describe('clocks', () => {
  // SENTINEL-12
  test('one that jumps a day ahead and back does not stop the pulses', async () => {
    let ahead = 0
    const DAY = 86_400_000
    const jumping = { now: () => new Date(clock.now().getTime() + ahead), sleep: clock.sleep }
    await declare('all')
    await world.start(jumping)
    await world.until('all', 'Watching')
    await reported('one', 'False')
    ahead = DAY
    await clock.advance('5s')
    await api.expect('one NotReadyBackoffExpired')
    ahead = 0
    await clock.advance('5s')
    await quiet()
    await api.expect()
    await clock.advance('10s')
    await api.expect('one NotReadyBackoffExpired')
  })
})

describe('metrics', () => {
  // SENTINEL-43
  test('with a stream the duration is how long changes waited for their pulses, and what was skipped is logged at debug', async () => {
    await declare('all')
    const { registry, lines } = await world.start(clock)
    await world.until('all', 'Watching')
    await reported('one', 'True')
    const duration = async (part: 'count' | 'sum') =>
      Number(new RegExp(`reconcile_duration_seconds_${part}{[^}]*} (\\S+)`).exec(await registry.metrics())?.[1])
    expect(await duration('count')).toBe(0)
    await clock.advance('5s')
    await vi.waitFor(async () => expect(await duration('count')).toBe(1), PATIENCE)
    const before = await duration('sum')
    api.fault = ({ method, path }) => (method === 'POST' && path.endsWith('/events') ? 'hang' : undefined)
    await api.create('two')
    await vi.waitFor(() => expect(api.requests.at(-1)).toContain('POST'), PATIENCE)
    await clock.advance('5s')
    await vi.waitFor(async () => expect((await duration('sum')) - before).toBeCloseTo(5), PATIENCE)
    const looked = lines.filter((line) => line.includes('looked at the shard'))
    expect(looked.every((line) => line.startsWith('debug'))).toBe(true)
    expect(looked.some((line) => line.includes('"skippedReady":1'))).toBe(true)
  })

  // SENTINEL-30
  test('the six of SENTINEL-30 have their names and labels, and shard is never empty', async () => {
    await declare('all')
    await declare('east', region('us-east'))
    const { registry } = await world.start(clock)
    await world.until('all', 'Watching')
    await world.until('east', 'Watching')
    await reported('one', 'True')
    await clock.advance('5s')
    const text = await vi.waitFor(async () => {
      const metrics = await registry.metrics()
      expect(metrics).toMatch(/resources_skipped_total\{shard="all",resource_type="clusters",ready_state="ready"\} 1/)
      return metrics
    }, PATIENCE)
    for (const line of [
      'hyperfleet_sentinel_pending_resources{shard="all",resource_type="clusters"} 1',
      'hyperfleet_sentinel_pending_resources{shard="region=us-east",resource_type="clusters"} 0',
      'hyperfleet_sentinel_events_created_total{shard="all",resource_type="clusters"} 1',
      'hyperfleet_sentinel_resources_skipped_total{shard="all",resource_type="clusters",ready_state="not_ready"}',
      'hyperfleet_sentinel_reconcile_duration_seconds_count{shard="all",resource_type="clusters"}',
      'hyperfleet_sentinel_api_errors_total{shard="all",resource_type="clusters",operation="fetch_resources"} 0',
      'hyperfleet_sentinel_api_errors_total{shard="all",resource_type="clusters",operation="create_event"} 0',
      'hyperfleet_sentinel_api_errors_total{shard="all",resource_type="clusters",operation="config_load"} 0',
      'hyperfleet_sentinel_config_reloads_total{shard="all",resource_type="clusters"} 0',
    ])
      expect(text).toContain(line)
    expect(text).not.toContain('shard=""')
  })
})

describe('replicas', () => {
  // SENTINEL-32
  test('a second replica stands by, takes over when the first stops, and no resource is pulsed twice', async () => {
    await declare('all')
    const first = await world.start(clock)
    await world.until('all', 'Watching')
    await world.start(clock)
    await reported('one', 'True')
    await clock.advance('30m')
    await api.expect('one ReadyBackoffExpired')
    await landed(2)
    await first.stop()
    await clock.advance('1s')
    await api.create('two')
    await api.expect('two New')
    await clock.advance('29m')
    await quiet()
    expect(api.told().filter((pulse) => pulse.startsWith('one'))).toEqual([])
    await clock.advance('59s')
    await vi.waitFor(
      () => expect(api.told().filter((pulse) => pulse.startsWith('one'))).toEqual(['one ReadyBackoffExpired']),
      PATIENCE,
    )
  })

  test('a SentinelConfig that comes to claim slots follows its spec, although the loop of before ends late', async () => {
    await using proxy = await world.plane.proxy()
    await declare('all')
    const { lines } = await world.start(clock, { kubeconfig: proxy.kubeconfig })
    await world.until('all', 'Watching')
    const held = Promise.withResolvers<'pass'>()
    const { length: before } = proxy.requests()
    const asked = (method: string, end: string) =>
      proxy.requests().some((one) => one.number > before && one.method === method && one.path.endsWith(end))
    proxy.decide(({ method, path }) =>
      method === 'PATCH' && path.endsWith('/sentinelconfigs/all/status') ? held.promise : 'pass',
    )
    await api.create('one')
    await vi.waitFor(() => expect(asked('PATCH', '/status'), 'a status on its way').toBe(true), PATIENCE)
    await world.change('all', { autoShard: { replicas: 1 } })
    await vi.waitFor(() => expect(asked('GET', '/leases/all-slot-0'), 'the next loop').toBe(true), PATIENCE)
    held.resolve('pass')
    await vi.waitFor(async () => {
      const lease = await world.api.get(LEASES, 'sentinel-all', world.namespace)
      expect(lease?.spec.holderIdentity, 'the loop of before has ended').toBe('')
    }, PATIENCE)
    const applied = () => lines.filter((line) => line.includes('spec applied')).length
    const count = applied()
    await world.change('all', { backoffReady: '20m' })
    await vi.waitFor(() => expect(applied()).toBe(count + 1), PATIENCE)
  })

  // SENTINEL-34
  test('replicas that claim slots share the resources, and the ones of a replica that stops move to the others', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, (_, number) => api.create(`cluster-${number}`)))
    await declare('all', { autoShard: { replicas: 2 } })
    const first = await world.start(clock)
    await world.until('all', 'Watching')
    await vi.waitFor(() => expect(api.pulses).toHaveLength(ids.length), LONG)
    const second = await world.start(clock)
    const sizes = async () => {
      const sizeOf = async ({ registry }: RunningSentinel) => {
        const gauge = await registry.getSingleMetric('hyperfleet_sentinel_pending_resources')?.get()
        return gauge?.values.reduce((sum, { value }) => sum + value, 0) ?? 0
      }
      return Promise.all([first, second].map(sizeOf))
    }
    await vi.waitFor(async () => {
      const [a = 0, b = 0] = await sizes()
      expect(Math.min(a, b)).toBeGreaterThan(0)
      expect(a + b).toBe(ids.length)
    }, LONG)
    api.pulses.length = 0
    await clock.advance('10s')
    await vi.waitFor(() => expect(api.pulses).toHaveLength(ids.length), PATIENCE)
    expect(new Set(api.pulses.map(({ id }) => id)).size).toBe(ids.length)
    await first.stop()
    await vi.waitFor(async () => expect((await sizes())[1]).toBe(ids.length), LONG)
  }, 120_000)

  // SENTINEL-16
  test('a restart is no storm: what was pulsed and waits is not pulsed again', async () => {
    await declare('all')
    const first = await world.start(clock)
    await world.until('all', 'Watching')
    for (const name of ['one', 'two', 'three']) await api.create(name)
    await api.expect('one New', 'three New', 'two New')
    await landed(3)
    await first.stop()
    await world.start(clock)
    await world.until('all', 'Watching')
    await quiet()
    await api.expect()
  })
})
