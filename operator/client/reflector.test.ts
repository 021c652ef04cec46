import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type ManualClock, manualClock } from '#test/harness/clock.ts'
import { json, refuse, type ScriptedRequest, scriptedServer } from '#test/harness/scripted-server.ts'
import type { Logger } from '../model/log.ts'
import { defineResource, type KubeObject } from '../model/resource.ts'
import { CacheBudget, CacheFullError } from './cache-budget.ts'
import { type Reflector, type ReflectorOptions, reflect } from './reflector.ts'
import { createTransport } from './transport.ts'
import type { WatchFailure } from './watch.ts'

const PODS = defineResource<unknown>({
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  scope: 'Namespaced',
  subresources: [],
})

const pod = (name: string, resourceVersion: number, uid = name) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'n', uid, resourceVersion: String(resourceVersion), managedFields: [{ manager: 'x' }] },
  spec: {},
})
type Line = { readonly type: string; readonly object: unknown }
const event = (type: string, object: unknown): Line => ({ type, object })
const bookmark = (resourceVersion: number, isEnd = false): Line =>
  event('BOOKMARK', {
    metadata: {
      resourceVersion: String(resourceVersion),
      ...(isEnd && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
    },
  })
const tooOld = event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' })

/** Sends lines and ends the answer, or leaves it open. */
const send = (response: ServerResponse, lines: readonly Line[], then: 'end' | 'stay' | 'cut'): void => {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' })
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  response.write(text, () => {
    if (then === 'end') response.end()
    if (then === 'cut') response.destroy()
  })
}

interface Watched {
  readonly reflector: Reflector<KubeObject>
  /** `type name@resourceVersion`, and `synced`. */
  readonly events: string[]
  /** `resourceVersion` of each watch, `initial` for a WatchList, `page` for a list. */
  readonly asked: string[]
  readonly failures: (WatchFailure['cause'] | 'fine')[]
  readonly clock: ManualClock
  readonly errors: string[]
  readonly stop: AbortController
}

type Script = readonly ((response: ServerResponse, request: ScriptedRequest) => void)[]

/** An answer that ends is one that had its time, so that the next one goes on where it was. */
const SHORTEST = { serverTimeout: '1s' } as const
/** An answer that ends is one that broke off. */
const LONG = { serverTimeout: '290s' } as const

/**
 * Watches a server that gives these answers in turn; the last one again and again.
 * @param newest its resourceVersion
 * @param there the objects that it has when it is asked for one
 */
const watched = async (
  script: Script,
  options: Partial<ReflectorOptions<KubeObject>> = {},
  newest = 1_000_000,
  there: readonly ReturnType<typeof pod>[] = [],
): Promise<Watched> => {
  const asked: string[] = []
  let probes = 0
  const server = await scriptedServer((request, response, before) => {
    // Whether history is the same is asked whenever a watch broke off, and is no part of a script.
    const { query } = request
    const only = /metadata.name=(.*)/.exec(query.get('fieldSelector') ?? '')?.[1]
    if (query.get('watch') === null && (query.get('limit') === '1' || only !== undefined)) {
      probes += 1
      const items = there.filter(({ metadata }) => metadata.name === only)
      json(response, 200, { items, metadata: { resourceVersion: String(newest) } })
      return
    }
    asked.push(request.query.get('watch') === null ? 'page' : (request.query.get('resourceVersion') ?? 'initial'))
    script[Math.min(before - probes, script.length - 1)]?.(response, request)
  })
  const transport = createTransport(server.kubeConfig)
  const stop = new AbortController()
  const clock = manualClock()
  const [events, failures, errors]: [string[], (WatchFailure['cause'] | 'fine')[], string[]] = [[], [], []]
  const log: Logger = { debug() {}, info() {}, warn() {}, error: (message) => errors.push(message), child: () => log }
  const reflector = reflect<KubeObject>(transport, PODS as never, {
    clock,
    log,
    signal: stop.signal,
    random: () => 0,
    ...SHORTEST,
    onEvent: (change) =>
      events.push(
        change.type === 'synced'
          ? 'synced'
          : `${change.type} ${change.object.metadata.name}@${change.object.metadata.resourceVersion}`,
      ),
    onHealth: (failure) => failures.push(failure?.cause ?? 'fine'),
    ...options,
  })
  onTestFinished(async () => {
    stop.abort()
    await reflector.stopped
    await transport.close()
    await server[Symbol.asyncDispose]()
  })
  return { reflector, events, failures, errors, clock, asked, stop }
}

const quiet: Script[number] = (response) => send(response, [], 'stay')
const initialAt =
  (version: number, ...lines: Line[]): Script[number] =>
  (response) =>
    send(response, [...lines, bookmark(version, true)], 'end')
const initial = (...lines: Line[]): Script[number] => initialAt(10, ...lines)

// RUNTIME-34
test('WatchList: what is there is listed, then synced, then changes come on the same stream', async () => {
  const { events, asked, reflector } = await watched([
    (response) => {
      send(response, [event('ADDED', pod('a', 1)), event('ADDED', pod('b', 2)), bookmark(10, true)], 'stay')
      send(
        response,
        [event('MODIFIED', pod('a', 11)), event('ADDED', pod('c', 12)), event('DELETED', pod('b', 13))],
        'stay',
      )
    },
  ])
  await expect.poll(() => events).toHaveLength(6)
  expect(events).toEqual(['listed a@1', 'listed b@2', 'synced', 'modified a@11', 'added c@12', 'deleted b@13'])
  expect(asked).toEqual(['initial'])
  expect(await reflector.synced).toBe(true)
  expect([...reflector.store.values()].map(({ metadata }) => metadata.name)).toEqual(['a', 'c'])
})

test('only what keep() leaves is stored, and managedFields never', async () => {
  const { reflector } = await watched([initial(event('ADDED', pod('a', 1))), quiet], {
    transform: ({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata, spec: undefined }),
  })
  await reflector.synced
  expect(reflector.store.get('n/a')).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'n', uid: 'a', resourceVersion: '1' },
    spec: undefined,
  })
})

test('a watch that ends goes on at once from the last bookmark', async () => {
  const { asked, events } = await watched([
    initial(event('ADDED', pod('a', 1))),
    (response) => send(response, [event('MODIFIED', pod('a', 11)), bookmark(25)], 'end'),
    quiet,
  ])
  await expect.poll(() => asked).toEqual(['initial', '10', '25'])
  expect(events).toEqual(['listed a@1', 'synced', 'modified a@11'])
})

test.each<[string, Script[number]]>([
  ['an ERROR event', (response) => send(response, [tooOld], 'end')],
  ['an answer', (response) => refuse(response, 410, 'Expired', 'too old resource version')],
])('410 as %s lists again and tells only the difference', async (_, gone) => {
  const { asked, events, clock } = await watched([
    initial(
      event('ADDED', pod('same', 1)),
      event('ADDED', pod('changed', 2)),
      event('ADDED', pod('lost', 3)),
      event('ADDED', pod('again', 4, 'first')),
    ),
    gone,
    initialAt(
      30,
      event('ADDED', pod('same', 1)),
      event('ADDED', pod('changed', 20)),
      event('ADDED', pod('again', 21, 'second')),
      event('ADDED', pod('new', 22)),
    ),
    quiet,
  ])
  await expect.poll(() => asked.length).toBe(2)
  await expect.poll(() => clock.sleepers()).toBe(1)
  await clock.advance('800ms')
  await expect.poll(() => asked).toEqual(['initial', '10', 'initial', '30'])
  expect(events.slice(5)).toEqual([
    'modified changed@20',
    'deleted again@4',
    'added again@21',
    'added new@22',
    'deleted lost@3',
  ])
})

test.each([400, 422])(
  '%i for sendInitialEvents falls back to pages of 500, all of one resourceVersion',
  async (status) => {
    const page =
      (name: string, token?: string): Script[number] =>
      (response, { query }) => {
        expect(query.get('limit')).toBe('500')
        const { apiVersion: _a, kind: _k, ...item } = pod(name, 1)
        json(response, 200, { metadata: { resourceVersion: '30', ...(token && { continue: token }) }, items: [item] })
      }
    const { asked, events, reflector } = await watched([
      (response) => refuse(response, status, 'Invalid', 'sendInitialEvents is forbidden'),
      page('a', 'more'),
      page('b'),
      quiet,
    ])
    await expect.poll(() => asked).toEqual(['initial', 'page', 'page', '30'])
    expect(events).toEqual(['listed a@1', 'listed b@1', 'synced'])
    expect(reflector.store.get('n/b')).toMatchObject({ apiVersion: 'v1', kind: 'Pod' })
  },
)

test('pages whose snapshot expires in the middle start over', async () => {
  const { asked, events, clock } = await watched(
    [
      (response) =>
        json(response, 200, {
          metadata: { resourceVersion: '30', continue: 'more' },
          items: [pod('a', 1), pod('b', 2)],
        }),
      (response) => refuse(response, 410, 'Expired', 'the continue token is too old'),
      (response) => json(response, 200, { metadata: { resourceVersion: '40' }, items: [pod('b', 2)] }),
      quiet,
    ],
    { initialList: 'pages' },
  )
  await expect.poll(() => clock.sleepers()).toBe(1)
  await clock.advance('800ms')
  await expect.poll(() => asked).toEqual(['page', 'page', 'page', '40'])
  expect(events).toEqual(['listed a@1', 'listed b@2', 'deleted a@1', 'synced'])
})

// RUNTIME-75
test('pages over a network so slow that each snapshot is forgotten go on with the token that the server gives, and are watched from the first', async () => {
  const expired: Script[number] = (response) =>
    json(response, 410, {
      kind: 'Status',
      code: 410,
      reason: 'Expired',
      message: 'the continue token is too old',
      metadata: { continue: 'fresh' },
    })
  const tokens: (string | null)[] = []
  const page =
    (version: number, token: string | undefined, ...items: unknown[]): Script[number] =>
    (response, { query }) => {
      tokens.push(query.get('continue'))
      json(response, 200, { metadata: { resourceVersion: String(version), continue: token }, items })
    }
  const { asked, events, failures } = await watched(
    [
      page(30, 'old', pod('a', 1)),
      expired,
      page(40, 'older', pod('b', 35, 'new')),
      expired,
      page(50, undefined, pod('c', 45)),
      (response) =>
        send(
          response,
          [
            event('MODIFIED', pod('a', 31)),
            event('DELETED', pod('b', 33, 'old')),
            event('ADDED', pod('b', 35, 'new')),
            event('ADDED', pod('c', 44)),
            event('MODIFIED', pod('c', 45)),
          ],
          'stay',
        ),
    ],
    { initialList: 'pages' },
  )
  await expect.poll(() => asked).toEqual(['page', 'page', 'page', 'page', 'page', '30'])
  expect(tokens).toEqual([null, 'fresh', 'fresh'])
  await expect.poll(() => events).toEqual(['listed a@1', 'listed b@35', 'listed c@45', 'synced', 'modified a@31'])
  expect(failures).toEqual([])
})

// RUNTIME-74
test('a WatchList that says it is complete as of a time before what it shows is not believed; what is there is listed in pages', async () => {
  const early: Script[number] = (response) =>
    send(response, [event('ADDED', pod('a', 1)), event('ADDED', pod('b', 19)), bookmark(10, true)], 'stay')
  const { asked, events, failures, clock } = await watched([early, early, page, quiet])
  const troubles = () => failures.filter((failure) => failure !== 'fine')
  await expect.poll(troubles).toEqual(['broken'])
  expect(events).toEqual(['listed a@1', 'listed b@19'])
  await clock.advance('2s')
  await expect.poll(troubles).toEqual(['broken', 'broken'])
  await clock.advance('2s')
  await expect.poll(() => asked).toEqual(['initial', 'initial', 'page', '20'])
  expect(events.slice(2)).toEqual(['deleted b@19', 'synced'])
})

// RUNTIME-74
test.each(['stream', 'pages'] as const)(
  'a list by %s of a server that lags behind what was seen deletes nothing; it is listed again',
  async (initialList) => {
    const list = (version: number, ...objects: ReturnType<typeof pod>[]): Script[number] =>
      initialList === 'stream'
        ? initialAt(version, ...objects.map((object) => event('ADDED', object)))
        : (response) => json(response, 200, { metadata: { resourceVersion: String(version) }, items: objects })
    const { asked, events, clock } = await watched(
      [
        list(10, pod('a', 1), pod('b', 2, 'old')),
        (response) =>
          send(
            response,
            [
              event('DELETED', pod('b', 11, 'old')),
              event('ADDED', pod('b', 12, 'new')),
              event('ADDED', pod('c', 13)),
              tooOld,
            ],
            'end',
          ),
        list(10, pod('a', 1), pod('b', 2, 'old')),
        list(14, pod('a', 1), pod('b', 12, 'new'), pod('c', 13)),
        quiet,
      ],
      { initialList },
    )
    await expect.poll(() => asked).toHaveLength(3)
    await expect.poll(() => clock.sleepers()).toBe(1)
    await clock.advance('2s')
    await expect.poll(() => asked.at(-1)).toBe('14')
    expect(events.slice(2)).toEqual(['synced', 'deleted b@11', 'added b@12', 'added c@13'])
  },
)

// RUNTIME-72
test('a list of an older version than what was seen is taken when the server has no newer one: it was restored', async () => {
  const { asked, events, clock } = await watched(
    [
      initial(event('ADDED', pod('a', 1)), event('ADDED', pod('b', 2))),
      (response) => send(response, [event('MODIFIED', pod('a', 11)), tooOld], 'end'),
      initialAt(5, event('ADDED', pod('a', 1))),
      quiet,
    ],
    {},
    5,
  )
  await vi.waitFor(async () => {
    await clock.advance('1s')
    expect(asked.at(-1)).toBe('5')
  })
  expect(events.slice(3)).toEqual(expect.arrayContaining(['modified a@1', 'deleted b@2']))
})

// RUNTIME-34
test('a stream that is cut before all initial events came is no list: nothing is taken for deleted', async () => {
  const { asked, events, failures, clock } = await watched([
    (response) => send(response, [event('ADDED', pod('a', 1))], 'cut'),
    initial(event('ADDED', pod('a', 1)), event('ADDED', pod('b', 2))),
    quiet,
  ])
  await expect.poll(() => failures).toEqual(['broken'])
  expect(events).toEqual(['listed a@1'])
  await clock.advance('800ms')
  await expect.poll(() => asked).toEqual(['initial', 'initial', '10'])
  expect(events).toEqual(['listed a@1', 'listed b@2', 'synced'])
})

const page: Script[number] = (response) =>
  json(response, 200, { metadata: { resourceVersion: '20' }, items: [pod('a', 1)] })

test.each(['end', 'cut'] as const)(
  'RUNTIME-52: two WatchLists without their mark (%s) are enough: what is there is listed in pages',
  async (how) => {
    const { asked, events, failures, clock } = await watched(
      [
        (response) => send(response, [event('ADDED', pod('a', 1)), event('ADDED', pod('b', 2))], how),
        (response) => send(response, [event('ADDED', pod('a', 1)), bookmark(9)], how),
        page,
        (response) => send(response, [tooOld], 'end'),
        page,
        quiet,
      ],
      LONG,
    )
    const troubles = () => failures.filter((failure) => failure !== 'fine')
    await expect.poll(troubles).toHaveLength(1)
    await clock.advance('2s')
    await expect.poll(troubles).toHaveLength(2)
    await clock.advance('2s')
    await expect.poll(troubles).toHaveLength(3)
    await clock.advance('2s')
    await expect.poll(() => asked).toEqual(['initial', 'initial', 'page', '20', 'page', '20'])
    expect(events).toEqual(['listed a@1', 'listed b@2', 'deleted b@2', 'synced'])
    const cause = how === 'end' ? 'unmarked' : 'broken'
    expect(troubles()).toEqual([cause, cause, 'expired'])
  },
)

test('RUNTIME-52: two WatchLists without their mark that one with its mark came between are no reason for pages', async () => {
  const { asked, failures, clock } = await watched(
    [
      (response) => send(response, [event('ADDED', pod('a', 1))], 'end'),
      (response) => send(response, [event('ADDED', pod('a', 1)), bookmark(10, true), tooOld], 'end'),
      (response) => send(response, [event('ADDED', pod('a', 1))], 'end'),
      quiet,
    ],
    LONG,
  )
  await vi.waitFor(async () => {
    await clock.advance('1s')
    expect(asked).toHaveLength(4)
  })
  expect(failures.filter((failure) => failure === 'unmarked')).toHaveLength(2)
  expect(asked).toEqual(['initial', 'initial', 'initial', 'initial'])
})

test('RUNTIME-52: a WatchList that brings nothing new for a minute and no mark is given up for pages, one that brings objects is not', async () => {
  let answer: ServerResponse | undefined
  const { asked, events, failures, clock } = await watched([
    (response) => {
      answer = response
      send(response, [event('ADDED', pod('a', 1))], 'stay')
    },
    page,
    quiet,
  ])
  await expect.poll(() => events).toEqual(['listed a@1'])
  await clock.advance('59s')
  send(answer as ServerResponse, [event('ADDED', pod('b', 2))], 'stay')
  await expect.poll(() => events).toHaveLength(2)
  await clock.advance('59s')
  expect(failures).toEqual([])
  // Changes and marks of another kind are no progress of a list.
  send(answer as ServerResponse, [event('MODIFIED', pod('b', 3)), bookmark(3)], 'stay')
  await expect.poll(() => events).toHaveLength(3)
  await clock.advance('1s')
  await expect.poll(() => failures).toEqual(['unmarked'])
  await clock.advance('2s')
  await expect.poll(() => asked).toEqual(['initial', 'page', '20'])
  expect(events.slice(3)).toEqual(['deleted b@3', 'synced'])
})

test('RUNTIME-54: a list whose time is over while its objects come is asked for more time, once; then what is there is listed in pages', async () => {
  const answers: { readonly response: ServerResponse; readonly seconds: number }[] = []
  const slowly: Script[number] = (response, { query }) => {
    answers.push({ response, seconds: Number(query.get('timeoutSeconds')) })
    send(response, [event('ADDED', pod('a', 1))], 'stay')
  }
  const { asked, failures, clock } = await watched([slowly, slowly, page, quiet], { serverTimeout: '50s' })
  for (const [index, seconds] of [50, 400].entries()) {
    await expect.poll(() => answers.length).toBe(index + 1)
    const { response, seconds: given } = answers[index] as (typeof answers)[number]
    expect(given).toBe(seconds)
    for (let n = 0; n < seconds; n += 50) {
      await expect.poll(() => clock.sleepers()).toBe(1)
      await clock.advance('50s')
      const before = failures.length
      send(response, [event('MODIFIED', pod('a', 2 + n / 50)), event('ADDED', pod(`more-${n}`, 3))], 'stay')
      await expect.poll(() => clock.sleepers()).toBe(1)
      expect(failures).toHaveLength(before)
      // Until it was read.
      await new Promise((done) => setTimeout(done, 20))
    }
    response.end()
    await expect.poll(() => failures.filter((failure) => failure === 'slow')).toHaveLength(index + 1)
    await expect.poll(() => clock.sleepers()).toBe(1)
    await clock.advance('2s')
  }
  await expect.poll(() => asked).toEqual(['initial', 'initial', 'page', '20'])
})

test('RUNTIME-54: an object that takes longer than a minute to come is no list that stands still', async () => {
  let answer: ServerResponse | undefined
  const { events, failures, clock, reflector } = await watched([
    (response) => {
      answer = response
      send(response, [event('ADDED', pod('a', 1))], 'stay')
    },
    quiet,
  ])
  await expect.poll(() => events).toEqual(['listed a@1'])
  const text = `${JSON.stringify(event('ADDED', { ...pod('large', 2), filling: 'x'.repeat(3_000) }))}\n`
  for (let from = 0; from < text.length; from += 1_000) {
    await clock.advance('59s')
    answer?.write(text.slice(from, from + 1_000))
    await new Promise((done) => setTimeout(done, 50))
  }
  await expect.poll(() => events).toEqual(['listed a@1', 'listed large@2'])
  send(answer as ServerResponse, [bookmark(9, true)], 'stay')
  expect(await reflector.synced).toBe(true)
  expect(failures).toEqual([])
})

test('RUNTIME-55: a list of more objects than there is room for is not taken for complete, and takes no more', async () => {
  const pods = Array.from({ length: 30 }, (_, index) => event('ADDED', pod(`pod-${index}`, index + 1)))
  const { events, failures, asked, clock, reflector } = await watched([initial(...pods)], {
    budget: new CacheBudget(20 * 1_024),
  })
  await expect.poll(() => failures).toContain('broken')
  const size = reflector.store.size
  expect(size).toBeGreaterThan(10)
  expect(size).toBeLessThan(20)
  await clock.advance('30s')
  await expect.poll(() => asked).toHaveLength(2)
  await expect.poll(() => failures.filter((failure) => failure === 'broken')).toHaveLength(2)
  expect(reflector.store.size).toBe(size)
  expect(events).not.toContain('synced')
})

test('RUNTIME-55: what is watched no longer takes none of the memory', async () => {
  const budget = new CacheBudget(20 * 1_024)
  const pods = Array.from({ length: 10 }, (_, index) => event('ADDED', pod(`pod-${index}`, index + 1)))
  const { reflector, stop } = await watched([initial(...pods), quiet], { budget })
  expect(await reflector.synced).toBe(true)
  const all = 18 * 1_024
  expect(() => budget.open().put('all of it', all)).toThrow(CacheFullError)
  stop.abort()
  await reflector.stopped
  budget.open().put('all of it', all)
})

test('a line that is not a watch event breaks the watch, which goes on from before it', async () => {
  const { asked, failures, clock } = await watched(
    [
      initial(event('ADDED', pod('a', 1))),
      (response) => {
        send(response, [event('MODIFIED', pod('a', 15))], 'stay')
        response.write('<html>oops</html>\n')
      },
      quiet,
    ],
    {},
    undefined,
    [pod('a', 15)],
  )
  await expect.poll(() => clock.sleepers()).toBe(1)
  await clock.advance('800ms')
  await expect.poll(() => asked).toEqual(['initial', '10', '15'])
  await expect.poll(() => failures).toEqual(['ended', 'fine', 'broken', 'fine'])
})

test('refusals are waited out for as long as Retry-After says, with growing waits, for ever', async () => {
  const { asked, failures, clock, reflector } = await watched([
    (response) => refuse(response, 403, 'Forbidden', 'pods is forbidden'),
    (response) => refuse(response, 429, 'TooManyRequests', 'later', { 'retry-after': '5' }),
    (response) => refuse(response, 500, 'InternalError', 'oops'),
    initial(),
    quiet,
  ])
  for (const wait of ['800ms', '5s', '3200ms'] as const) {
    await expect.poll(() => clock.sleepers()).toBe(1)
    const before = asked.length
    await clock.advance(wait === '5s' ? 4_999 : wait === '800ms' ? 799 : 3_199)
    expect(asked).toHaveLength(before)
    await clock.advance(1)
  }
  expect(await reflector.synced).toBe(true)
  await expect.poll(() => failures).toEqual(['refused', 'refused', 'refused', 'fine', 'ended', 'fine'])
})

test('handlers that throw are logged, and every event still comes', async () => {
  const seen: string[] = []
  const { errors, reflector } = await watched(
    [initial(event('ADDED', pod('a', 1)), event('ADDED', pod('b', 2))), quiet],
    {
      onEvent: ({ type }) => {
        seen.push(type)
        throw new Error('boom')
      },
      onHealth: () => {
        throw new Error('boom')
      },
    },
  )
  await reflector.synced
  expect(seen).toEqual(['listed', 'listed', 'synced'])
  await expect.poll(() => errors).toContain('a watch health handler threw, the watch goes on')
  expect(errors.filter((message) => message === 'a watch handler threw, it goes on with the next event')).toHaveLength(
    3,
  )
})

test('after the signal nothing is asked and nothing is told', async () => {
  const { reflector, asked, events, stop } = await watched([quiet])
  await expect.poll(() => asked).toHaveLength(1)
  stop.abort()
  await reflector.stopped
  expect(await reflector.synced).toBe(false)
  expect(events).toEqual([])
})

test('selectors and the namespace are part of every request', async () => {
  const requests: ScriptedRequest[] = []
  const script = ((response, request) => {
    requests.push(request)
    if (requests.length === 1) initial()(response, request)
    else quiet(response, request)
  }) satisfies Script[number]
  await watched([script], { namespace: 'n', labelSelector: 'a in (b,c)', fieldSelector: 'metadata.name=x' })
  await expect.poll(() => requests).toHaveLength(2)
  for (const { path, query } of requests) {
    expect([path, query.get('labelSelector'), query.get('fieldSelector'), query.get('allowWatchBookmarks')]).toEqual([
      '/api/v1/namespaces/n/pods',
      'a in (b,c)',
      'metadata.name=x',
      'true',
    ])
  }
})

// RUNTIME-72
test('a server whose data went back is listed again: what it has not is deleted, though a watch would be accepted', async () => {
  const { events, asked, clock, reflector } = await watched(
    [
      (response) =>
        send(response, [event('ADDED', pod('kept', 1)), event('ADDED', pod('lost', 9)), bookmark(10, true)], 'cut'),
      (response) => send(response, [event('ADDED', pod('kept', 1)), bookmark(5, true)], 'stay'),
    ],
    {},
    5,
  )
  await reflector.synced
  await vi.waitFor(async () => {
    await clock.advance('1s')
    expect(events).toContain('deleted lost@9')
  })
  expect(events).not.toContain('deleted kept@1')
  expect(asked).toEqual(['initial', 'initial'])
})

const CHANGES: readonly Line[] = [event('ADDED', pod('b', 13)), event('MODIFIED', pod('a', 15))]

// RUNTIME-72
test.each([
  ['goes on from what was told last, where the server has just that', CHANGES, [pod('a', 15), pod('b', 20)], '15'],
  ['goes on from there also where the server marked a later version', [...CHANGES, bookmark(25)], [pod('a', 15)], '15'],
  ['begins again where that has changed since', CHANGES, [pod('a', 17)], 'initial'],
  ['begins again where the server has an earlier state of it', CHANGES, [pod('a', 1)], 'initial'],
  [
    'begins again where the server has another state under its number',
    CHANGES,
    [{ ...pod('a', 15), spec: { v: 2 } }],
    'initial',
  ],
  ['begins again where the server has another object of its name', CHANGES, [pod('a', 15, 'other')], 'initial'],
  ['begins again where the server has it no more', CHANGES, [], 'initial'],
  [
    'begins again where a deletion was told last',
    [...CHANGES, event('DELETED', pod('b', 18))],
    [pod('a', 15)],
    'initial',
  ],
  ['begins again where nothing was told but a mark', [bookmark(15)], [pod('a', 1)], 'initial'],
] as const)('a watch that broke off %s', async (_, lines, there, next) => {
  const { asked, events, clock } = await watched(
    [
      initial(event('ADDED', pod('a', 1))),
      (response) => send(response, lines, 'cut'),
      next === 'initial' ? initialAt(30, event('ADDED', pod('a', 1)), event('ADDED', pod('new', 21))) : quiet,
      quiet,
    ],
    {},
    undefined,
    there,
  )
  await expect.poll(() => clock.sleepers()).toBe(1)
  await clock.advance('800ms')
  await expect.poll(() => asked.slice(0, 3)).toEqual(['initial', '10', next])
  if (next === 'initial') await expect.poll(() => events).toContain('added new@21')
})

// RUNTIME-72
test('a watch that broke off after a list begins again, though the change that was told last before the list is still so', async () => {
  const { asked, clock } = await watched(
    [
      initial(event('ADDED', pod('a', 1)), event('ADDED', pod('b', 2))),
      (response) => send(response, [event('MODIFIED', pod('a', 15)), tooOld], 'end'),
      (response) => send(response, [event('ADDED', pod('a', 15)), bookmark(30, true)], 'cut'),
      quiet,
    ],
    {},
    undefined,
    [pod('a', 15)],
  )
  await vi.waitFor(async () => {
    await clock.advance('1s')
    expect(asked).toHaveLength(4)
  })
  expect(asked).toEqual(['initial', '10', 'initial', 'initial'])
})

// RUNTIME-72
test('what a list shows that is as new as all that was told counts, also where it is older than what is known', async () => {
  const { asked, events, reflector } = await watched([
    initial(event('ADDED', pod('back', 1)), event('ADDED', pod('ended', 2)), event('ADDED', pod('again', 3, 'first'))),
    (response) =>
      send(
        response,
        [
          event('MODIFIED', pod('back', 11)),
          event('DELETED', pod('ended', 12)),
          event('DELETED', pod('again', 13, 'first')),
          event('ADDED', pod('again', 14, 'second')),
          event('ADDED', pod('lost', 15)),
          tooOld,
        ],
        'end',
      ),
    initialAt(
      40,
      event('ADDED', pod('back', 1)),
      event('ADDED', pod('ended', 2)),
      event('ADDED', pod('again', 3, 'first')),
    ),
    (response) => send(response, [event('MODIFIED', pod('ended', 41))], 'stay'),
  ])
  await expect.poll(() => events.at(-1)).toBe('modified ended@41')
  expect(asked).toEqual(['initial', '10', 'initial', '40'])
  expect(events.slice(9)).toEqual([
    'deleted lost@15',
    'modified back@1',
    'added ended@2',
    'deleted again@14',
    'added again@3',
    'modified ended@41',
  ])
  expect(reflector.store.size).toBe(3)
})
