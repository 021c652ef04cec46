import { describe, expect, test } from 'vitest'
import { NEVER_PULSED, nextPulse } from './decide.ts'
import { inferPulseHistory } from './pulse-history.ts'
import { readReadiness } from './readiness.ts'
import { parseResource } from './resource.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const backoff = { notReady: 10 * SECOND, ready: 30 * MINUTE }
const iso = (moment: number) => new Date(moment).toISOString()

/** A resource that was created at 0 and reported at `reported`, if at all. */
const resource = ({
  generation = 1,
  ready = true,
  reported,
  adapters = true,
  updated = 0,
  deleted,
}: Partial<Shape> = {}) =>
  parseResource({
    id: 'a',
    generation,
    created_time: iso(0),
    updated_time: iso(updated),
    ...(deleted !== undefined && { deleted_time: iso(deleted) }),
    status: {
      conditions: adapters
        ? [
            {
              type: 'Ready',
              status: ready ? 'True' : 'False',
              observed_generation: 1,
              last_updated_time: iso(reported ?? 0),
            },
          ]
        : [],
    },
  })

interface Shape {
  generation: number
  ready: boolean
  reported: number
  adapters: boolean
  updated: number
  deleted: number
}

const next = (body: ReturnType<typeof resource>, covered: number | undefined) => {
  const { ready, reference } = readReadiness(body)
  const facts = { generation: body.generation, deleting: body.deletedAt !== undefined, ready, reference }
  return nextPulse(inferPulseHistory(body, covered, backoff), facts, backoff)
}

describe('the first Sentinel of a shard', () => {
  test('pulses what was never reported on as new', () => {
    expect(inferPulseHistory(resource(), undefined, backoff)).toBe(NEVER_PULSED)
  })
  test('lets what was reported on wait for its backoff', () => {
    expect(next(resource({ reported: HOUR }), undefined)).toEqual({
      at: HOUR + 30 * MINUTE,
      reason: 'ReadyBackoffExpired',
    })
  })
  test('pulses a generation that adapters have not observed at once', () => {
    expect(next(resource({ reported: HOUR, generation: 2 }), undefined).reason).toBe('SpecChanged')
  })
})

describe('a Sentinel that follows another one', () => {
  test('pulses what was created meanwhile as new', () => {
    expect(next(resource(), -HOUR).reason).toBe('New')
  })
  test('does not pulse as new what the other one had seen', () => {
    expect(next(resource({ ready: false }), HOUR).reason).toBe('NotReadyBackoffExpired')
  })
  // SENTINEL-16
  test('goes on in the rhythm of the other one, although no report came for hours', () => {
    expect(next(resource({ reported: HOUR }), 10 * HOUR + MINUTE).at).toBe(10.5 * HOUR)
  })
  test('makes up for a beat while no Sentinel watched', () => {
    const stopped = 2 * HOUR + MINUTE
    expect(next(resource({ reported: HOUR }), stopped).at).toBe(2.5 * HOUR)
  })
  test('pulses a deletion that was asked for meanwhile', () => {
    expect(next(resource({ reported: HOUR, deleted: 3 * HOUR, updated: 3 * HOUR }), 2 * HOUR).reason).toBe('Deleting')
  })
  test('does not pulse an old deletion again at once', () => {
    const old = resource({ reported: HOUR, ready: false, deleted: HOUR, updated: HOUR })
    expect(next(old, 2 * HOUR).reason).toBe('NotReadyBackoffExpired')
  })
})

describe('of a kind without adapters', () => {
  test('a resource that the other one had pulsed waits for the next beat', () => {
    expect(next(resource({ adapters: false }), HOUR + MINUTE)).toEqual({
      at: 1.5 * HOUR,
      reason: 'ReadyBackoffExpired',
    })
  })
  test('a change of the spec while no Sentinel watched is pulsed at once', () => {
    const changed = resource({ adapters: false, generation: 2, updated: 3 * HOUR })
    expect(next(changed, 2 * HOUR).reason).toBe('SpecChanged')
  })
})
