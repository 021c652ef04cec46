import { describe, expect, test } from 'vitest'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { buildStatus, type SentinelState } from './status.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const running = { shard: 'region=us-east', resourceType: 'clusters', pollInterval: 5_000 }

const buildState = (change: Partial<SentinelState> = {}): SentinelState => ({
  generation: 3,
  specProblem: undefined,
  running,
  source: 'Watch',
  isComplete: true,
  fetchFailure: undefined,
  eventFailure: undefined,
  counts: { ready: 2, notReady: 1 },
  pulses: 7,
  coveredUntil: NOW.getTime(),
  findings: undefined,
  ...change,
})

/** `type=status/reason` of the conditions that hold, and of Ready. */
const activeConditions = (change: Partial<SentinelState> = {}) =>
  (buildStatus(buildState(change), undefined, NOW).conditions ?? [])
    .filter(({ type, status }) => type === 'Ready' || status === 'True')
    .map(({ type, status, reason }) => `${type}=${status}/${reason}`)

test('the whole status of a Sentinel at work', () => {
  const { conditions: _, ...rest } = buildStatus(buildState(), undefined, NOW)
  expect(rest).toEqual({
    observedGeneration: 3,
    shard: 'region=us-east',
    source: 'Watch',
    lastPollTime: '2026-01-01T00:00:00.000Z',
    resources: 3,
    ready: 2,
    notReady: 1,
    pulses: 7,
    lastError: null,
  })
})

// SENTINEL-29
describe('how it stands', () => {
  const unreachable = new HyperFleetError('APIUnreachable', 'GET http://api: connect ECONNREFUSED')
  test.for<[string, Partial<SentinelState>, string[]]>([
    ['following the stream', {}, ['Ready=True/Watching']],
    ['polling', { source: 'Poll' }, ['Ready=True/Polling']],
    ['reading for the first time', { isComplete: false }, ['Ready=False/Starting', 'Reconciling=True/Starting']],
    [
      'without the API',
      { fetchFailure: unreachable },
      ['Ready=False/APIUnreachable', 'Reconciling=True/APIUnreachable'],
    ],
    [
      'with refused events',
      { eventFailure: unreachable },
      ['Ready=False/EventsRefused', 'Reconciling=True/EventsRefused'],
    ],
    [
      'asked for an unknown type',
      { fetchFailure: new HyperFleetError('UnknownResourceType', '404') },
      ['Ready=False/UnknownResourceType', 'Stalled=True/UnknownResourceType'],
    ],
    ['with an invalid spec', { specProblem: 'spec.x: wrong' }, ['Ready=False/InvalidSpec', 'Stalled=True/InvalidSpec']],
    [
      'overlapping and with a gap',
      { findings: { overlap: 'prod selects the same', unowned: { count: 2, problem: '2 of the clusters' } } },
      ['Ready=True/Watching', 'Overlapping=True/SelectorsOverlap', 'Unowned=True/ResourcesWithoutShard'],
    ],
  ])('%s', ([, change, conditions]) => {
    expect(activeConditions(change)).toEqual(conditions)
  })
})

test('a failure says what happens next', () => {
  const fetchFailure = new HyperFleetError('APIUnreachable', 'GET http://api: 503')
  const { conditions, lastError } = buildStatus(buildState({ fetchFailure }), undefined, NOW)
  expect(conditions?.[0]?.message).toBe('GET http://api: 503; tried again every 5s')
  expect(lastError).toBe('GET http://api: 503')
})

test('repeating the same changes nothing, also not the time of the last transition', () => {
  const first = buildStatus(buildState(), undefined, NOW).conditions
  expect(buildStatus(buildState(), first ?? undefined, new Date('2026-01-02T00:00:00Z')).conditions).toEqual(first)
})

test('the other owners of the resources, and the number of those without an owner, are said in the words of the finding', () => {
  const findings = { overlap: 'prod selects the same', unowned: { count: 2, problem: '2 of the clusters' } }
  const { conditions } = buildStatus(buildState({ findings }), undefined, NOW)
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'Overlapping', message: 'prod selects the same' }))
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'Unowned', message: '2 of the clusters' }))
  const none = buildStatus(buildState({ findings: { overlap: undefined, unowned: undefined } }), undefined, NOW)
  expect(none.conditions).toContainEqual(expect.objectContaining({ type: 'Overlapping', status: 'False', message: '' }))
})
