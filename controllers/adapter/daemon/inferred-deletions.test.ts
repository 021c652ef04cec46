import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BRAKE_WINDOW_MS } from '#operator/model/deletion-brake.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import { manualClock } from '#test/harness/index.ts'
import {
  describeHeld,
  type HeldResources,
  InferredDeletions,
  type InferredDeletionsOptions,
  LOOK_REST_MS,
  type LostResource,
  recallBegun,
  recordBegun,
} from './inferred-deletions.ts'

const ids = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `c${from + at}`)
const ORDERED = { isDeleting: true, isSelected: true }
const LIVING = { isDeleting: false, isSelected: true }
const missing = (names: readonly string[]) =>
  names.map((key) => ({ key, revision: `uid-${key}`, why: 'gone' as const }))

const world = (before?: InferredDeletionsOptions['before']) => {
  const shown: (number | undefined)[] = []
  const clock = manualClock()
  const soon = new WakeSignal(clock)
  const state = { now: 0, released: undefined as string | undefined, recorded: 0, isStatusRefused: false }
  const gone = new InferredDeletions({
    released: () => state.released,
    now: () => state.now,
    onChange: (held: HeldResources | undefined) => shown.push(held?.deletions.length),
    soon,
    record: async () => {
      if (state.isStatusRefused) throw new Error('403')
      state.recorded = gone.recent.length
    },
    ...(before !== undefined && { before }),
  })
  const of = (id: string) => gone.of(id, () => `uid-${id}`)
  /** A look that takes no time, two seconds after the last. */
  const look = (lost: readonly LostResource[], known: ReadonlySet<string>) => {
    state.now += LOOK_REST_MS
    return [...gone.look()(lost, known)]
  }
  /** Is a look asked for before its time? */
  const isWoken = async () => {
    let isOver = false
    const waited = soon.wait(1, new AbortController().signal).then(() => {
      isOver = true
    })
    await Promise.resolve().then(() => undefined)
    const isEarly = isOver
    await clock.advance(1)
    await waited
    return isEarly
  }
  /** A look that takes no time, and the next, with nothing in between. */
  const lookTwice = (lost: readonly LostResource[], known: ReadonlySet<string>) => {
    look(lost, known)
    return look(lost, known)
  }
  const mayDelete = async (names: readonly string[]) => {
    const free: string[] = []
    for (const id of names) if (await of(id).mayDelete('gone')) free.push(id)
    return free
  }
  return { gone, of, look, lookTwice, mayDelete, isWoken, shown, state }
}

describe('ADAPTER-75: resources that are gone without having been deleted', () => {
  test('few go', async () => {
    const { gone, lookTwice, mayDelete } = world()
    expect(lookTwice(missing(ids(20)), new Set(ids(50)))).toEqual(ids(20))
    expect(await mayDelete(ids(20))).toEqual(ids(20))
    expect(gone.held).toBeUndefined()
  })

  test('of many that are seen together none goes, and they are shown once', async () => {
    const { look, mayDelete, shown } = world()
    const known = new Set(ids(50))
    expect(look(missing(ids(21)), known)).toEqual([])
    expect(await mayDelete(ids(21))).toEqual([])
    expect(look(missing(ids(21)), known)).toEqual([])
    expect(shown).toEqual([21])
  })

  test('in steps within ten minutes they are as many', async () => {
    const { lookTwice, mayDelete, state } = world()
    lookTwice(missing(ids(20)), new Set(ids(50)))
    expect(await mayDelete(ids(30))).toEqual(ids(20))
    state.now = BRAKE_WINDOW_MS - 2 * LOOK_REST_MS
    // The first twenty are gone altogether; more are found missing.
    expect(lookTwice(missing(ids(2, 30)), new Set(ids(50, 30)))).toEqual([])
  })

  test('a tenth of what there is is few', () => {
    expect(world().lookTwice(missing(ids(100)), new Set(ids(1000)))).toHaveLength(100)
    expect(world().lookTwice(missing(ids(101)), new Set(ids(1000)))).toEqual([])
  })

  test('when the API has them again nothing is held, and nothing went', () => {
    const { gone, look, shown } = world()
    look(missing(ids(30)), new Set(ids(30)))
    look([], new Set(ids(30)))
    expect([gone.held, shown]).toEqual([undefined, [30, undefined]])
  })

  test('an earlier deletion of a resource that lives again counts for nothing', () => {
    const { of, lookTwice } = world()
    for (const id of ids(30)) of(id).observe(ORDERED)
    for (const id of ids(30)) of(id).observe(LIVING)
    expect(lookTwice(missing(ids(30)), new Set(ids(30)))).toEqual([])
  })

  test('a deletion that has begun goes on, however long it takes, and is not counted again', async () => {
    const { look, lookTwice, mayDelete } = world()
    const known = new Set(ids(40))
    lookTwice(missing(ids(5)), known)
    expect(await mayDelete(ids(5))).toEqual(ids(5))
    expect(look(missing(ids(40)), known)).toEqual(ids(5))
    expect(await mayDelete(ids(40))).toEqual(ids(5))
    expect(look(missing(ids(40)), known)).toEqual(ids(5))
  })
})

describe('ADAPTER-140: one answer proves nothing', () => {
  const known = new Set(ids(60))

  test('a run that finds its resource gone waits for a look at all, and asks for one', async () => {
    const { gone, look, mayDelete } = world()
    expect(await mayDelete(['c1'])).toEqual([])
    const ended = new AbortController()
    await gone.soon.wait(Number.POSITIVE_INFINITY, ended.signal)
    expect(look(missing(['c1']), known)).toEqual(['c1'])
    expect(await mayDelete(['c1'])).toEqual(['c1'])
  })

  test('a look that was under way when the answers changed decides nothing: the next has them all', async () => {
    const { gone, look, mayDelete } = world()
    const torn = gone.look()
    expect(await mayDelete(ids(6))).toEqual([])
    expect([...torn(missing(ids(10)), known)]).toEqual([])
    expect(await mayDelete(ids(10))).toEqual([])
    expect(look(missing(ids(60)), known)).toEqual([])
    expect(gone.held?.deletions).toHaveLength(60)
  })

  test('one that a run has seen alive since the look began is judged anew', async () => {
    const { gone, of, look, mayDelete } = world()
    look(missing(['c1']), known)
    const end = gone.look()
    of('c1').observe(LIVING)
    expect([...end(missing(['c1']), known)]).toEqual([])
    look(missing(['c1']), known)
    of('c1').observe(LIVING)
    expect(await mayDelete(['c1'])).toEqual([])
  })

  test('ADAPTER-142: a look that begins where the last one ended confirms nothing: the task was restarted', async () => {
    const { gone, look, isWoken } = world()
    expect(look(missing(['c1']), known)).toEqual([])
    expect(await isWoken()).toBe(true)
    expect([...gone.look()(missing(['c1']), known)]).toEqual([])
    expect(await isWoken()).toBe(true)
    expect(look(missing(['c1']), known)).toEqual(['c1'])
    expect(await isWoken()).toBe(false)
  })

  test('ADAPTER-142: an order that came with a new inventory while a look was under way is remembered', async () => {
    const { gone, of, mayDelete } = world()
    const end = gone.look()
    of('c99').observe(ORDERED)
    end([], known)
    expect(await mayDelete(['c99'])).toEqual(['c99'])
  })

  test('ADAPTER-141: what each look finds lost and each run alive hastens no look', async () => {
    const { of, look, isWoken } = world()
    let early = 0
    for (let n = 0; n < 20; n++) {
      if (look(missing(['c1']), known).length > 0) of('c1').observe(LIVING)
      if (await isWoken()) early += 1
    }
    expect(early).toBe(1)
  })

  test('ADAPTER-141: what runs find lost all the time and no look does hastens one look', async () => {
    const { look, mayDelete, isWoken } = world()
    let early = 0
    for (let n = 0; n < 20; n++) {
      expect(await mayDelete(['c1', 'c1', 'c1'])).toEqual([])
      if (await isWoken()) early += 1
      look([], known)
      if (await isWoken()) early += 1
    }
    expect(early).toBe(1)
    // Once both tell the same, it goes as any other.
    await mayDelete(['c1'])
    expect(look(missing(['c1']), known)).toEqual(['c1'])
  })

  test('another inventory of the same id is another one', async () => {
    const { gone, lookTwice } = world()
    expect(lookTwice(missing(['c1']), known)).toEqual(['c1'])
    const other = gone.of('c1', () => 'uid-of-another')
    expect(await other.mayDelete('gone')).toBe(false)
    expect(await other.mayDelete('gone')).toBe(false)
  })
})

describe('RUNTIME-71: the count outlives the process', () => {
  test('what may go is written down first; when that fails it may not', async () => {
    const { of, lookTwice, mayDelete, state } = world()
    lookTwice(missing(ids(4)), new Set(ids(4)))
    await mayDelete(ids(3))
    expect(state.recorded).toBe(3)
    state.isStatusRefused = true
    await expect(of('c3').mayDelete('gone')).rejects.toThrow('403')
    await expect(of('c3').mayDelete('gone')).rejects.toThrow('403')
    state.isStatusRefused = false
    expect(await mayDelete(['c3'])).toEqual(['c3'])
  })

  test('what could not be written down, and so was not deleted, does not count', async () => {
    const { gone, lookTwice, mayDelete, state } = world()
    lookTwice(missing(ids(20)), new Set(ids(20)))
    state.isStatusRefused = true
    for (let attempt = 0; attempt < 25; attempt++) await expect(mayDelete(['c1'])).rejects.toThrow('403')
    expect(gone.recent).toEqual([])
    state.isStatusRefused = false
    expect(await mayDelete(ids(20))).toEqual(ids(20))
  })

  test('the next process lets through no more than what is left of it', async () => {
    const { lookTwice, mayDelete, gone } = world({ recent: Array(15).fill(0), isHolding: false })
    lookTwice(missing(ids(5)), new Set(ids(60)))
    expect(await mayDelete(ids(5))).toEqual(ids(5))
    expect(lookTwice(missing(ids(30)), new Set(ids(60)))).toEqual(ids(5))
    expect(await mayDelete(ids(30))).toEqual(ids(5))
    expect(gone.recent).toHaveLength(20)
  })

  test('ADAPTER-109: what it counted and has not ended goes on in the next process, and is counted once', async () => {
    const { lookTwice, mayDelete, gone } = world()
    lookTwice(missing(ids(15)), new Set(ids(60)))
    await mayDelete(ids(15))
    const next = world({ recent: gone.recent, isHolding: false, begun: gone.begun })
    expect(next.look(missing(ids(20)), new Set(ids(60)))).toEqual(ids(15))
    expect(next.look(missing(ids(20)), new Set(ids(60)))).toEqual(ids(20))
    expect(await next.mayDelete(ids(20))).toEqual(ids(20))
    expect([next.gone.recent.length, next.gone.begun.length]).toEqual([20, 20])
    expect(next.lookTwice(missing(ids(21)), new Set(ids(60)))).toHaveLength(20)
  })

  test('ADAPTER-109: of what has begun and lives again, or is another one of its id, nothing is free', async () => {
    const begun = ids(20).map((id) => ({ uid: `uid-${id}`, at: 0 }))
    const { gone, look, lookTwice, mayDelete } = world({ recent: Array(20).fill(0), isHolding: false, begun })
    look([], new Set(ids(60)))
    expect([lookTwice(missing(ids(20)), new Set(ids(60))), gone.begun]).toEqual([[], []])
    expect(await mayDelete(ids(20))).toEqual([])
    const other = world({ recent: Array(20).fill(0), isHolding: false, begun: [{ uid: 'uid-before', at: 0 }] })
    expect(other.lookTwice(missing(['c0']), new Set(ids(60)))).toEqual([])
    expect(await other.mayDelete(['c0'])).toEqual([])
  })

  test('ADAPTER-109: what has begun is known to the next process for ten minutes after it read that, whatever its clock says', () => {
    for (const epoch of [0, 660_000, -86_400_000]) {
      const begun = [
        { uid: 'a', at: 0 },
        { uid: 'b', at: 60_000 },
      ]
      const recorded = recordBegun(begun, { epoch })
      expect(recallBegun(recorded, 5)).toEqual([
        { uid: 'a', at: 5 - 60_000 },
        { uid: 'b', at: 5 },
      ])
    }
    const unreadable = { inventory: 'c', time: 'yesterday' }
    expect(recallBegun([unreadable, { inventory: 'd', time: '2026-01-01T12:00:00Z' }], 5)).toEqual([
      { uid: 'd', at: 5 },
    ])
    expect(recallBegun(null, 5)).toEqual([])
  })

  test('ADAPTER-109: what has begun counts anew ten minutes after that, as it does no more', () => {
    const { gone, state } = world({ recent: [], isHolding: false, begun: [{ uid: 'uid-c0', at: 0 }] })
    state.now = BRAKE_WINDOW_MS - 1
    expect(gone.begun).toEqual([{ uid: 'uid-c0', at: 0 }])
    state.now = BRAKE_WINDOW_MS
    expect(gone.begun).toEqual([])
  })

  test('what was held stays held, however few of it are seen at first', async () => {
    const { lookTwice, mayDelete } = world({ recent: [], isHolding: true })
    expect(lookTwice(missing(ids(2)), new Set(ids(60)))).toEqual([])
    expect(await mayDelete(ids(2))).toEqual([])
  })
})

describe('ADAPTER-76: what a person has ordered', () => {
  test('a resource that the API said is to be deleted goes, however many there are', async () => {
    const { gone, of, look, mayDelete } = world()
    for (const id of ids(100)) of(id).observe(ORDERED)
    expect(look(missing(ids(100)), new Set(ids(100)))).toHaveLength(100)
    expect(await mayDelete(ids(100))).toHaveLength(100)
    expect(gone.held).toBeUndefined()
  })

  test('the release of a list is for what it names', async () => {
    const { gone, look, mayDelete, state } = world()
    const known = new Set(ids(60))
    look(missing(ids(30)), known)
    state.released = gone.held?.release
    expect(describeHeld(gone.held as HeldResources)).toMatch(
      `never said that they are to be deleted: ${ids(20).join(', ')} and 10 more. More than 20 at once are held, and what was applied for them stays. Find out what happened to the API, to the labels or to the selector; release them with the annotation muster.dev/release-deletions=${state.released}`,
    )
    expect(look(missing(ids(60)), known)).toEqual(ids(30))
    expect(await mayDelete(ids(60))).toEqual(ids(30))
    expect(gone.held?.deletions).toHaveLength(30)
  })
})

describe('ADAPTER-87: resources that live and are not selected any more', () => {
  const UNSELECTED = { isDeleting: false, isSelected: false }
  const unselected = (names: readonly string[]) =>
    names.map((key) => ({ key, revision: `uid-${key}`, why: 'unselected' as const }))

  test('count with those that are gone, and are told apart from them', async () => {
    const { gone, look } = world()
    expect(look([...missing(ids(11)), ...unselected(ids(11, 11))], new Set(ids(60)))).toEqual([])
    expect(describeHeld(gone.held as HeldResources)).toMatch(
      `the HyperFleet API does not have 11 resources any more and never said that they are to be deleted: ${ids(11).join(', ')}; the task does not select 11 resources any more: ${ids(11, 11).join(', ')}. More than 20`,
    )
  })

  test('a run that only finds them unselected again counts nothing anew; selected again, nothing is held', async () => {
    const { gone, of, look, lookTwice } = world()
    lookTwice(unselected(['c1']), new Set(ids(30)))
    for (let round = 0; round < 30; round++) {
      of('c1').observe(UNSELECTED)
      expect(await of('c1').mayDelete('unselected')).toBe(true)
    }
    expect(gone.recent).toHaveLength(1)
    look(unselected(ids(30)), new Set(ids(30)))
    expect(gone.held?.deletions).toHaveLength(29)
    for (const id of ids(30)) of(id).observe(LIVING)
    look([], new Set(ids(30)))
    expect(gone.held).toBeUndefined()
  })

  test('one that the API says is to be deleted is held no longer', async () => {
    const { of, look } = world()
    look(unselected(ids(30)), new Set(ids(30)))
    of('c7').observe({ isDeleting: true, isSelected: false })
    expect(await of('c7').mayDelete('unselected')).toBe(true)
    expect(await of('c8').mayDelete('unselected')).toBe(false)
  })
})

test('ADAPTER-75, ADAPTER-87, ADAPTER-140: in any order of looks, runs and observations nothing goes without an order that a look has not found lost which began after it was first inferred, and no more than the limit', async () => {
  const id = fc.integer({ min: 0, max: 59 }).map((at) => `c${at}`)
  const step = fc.oneof(
    fc.record({ kind: fc.constant('begin' as const), rest: fc.constantFrom(0, LOOK_REST_MS, LOOK_REST_MS) }),
    fc.record({ kind: fc.constant('end' as const), lost: fc.uniqueArray(id, { maxLength: 60 }) }),
    fc.record({ kind: fc.constant('run' as const), id, why: fc.constantFrom('gone' as const, 'unselected' as const) }),
    fc.record({ kind: fc.constant('alive' as const), id }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const { gone, of, state } = world()
      const went = new Set<string>()
      let count = 0
      /** By id: at which step it was first inferred, and whether a look confirmed that. */
      const inferred = new Map<string, { readonly at: number; readonly isConfirmed: boolean }>()
      let look: { readonly end: ReturnType<typeof gone.look>; readonly at: number } | undefined
      let lookedAt = Number.NEGATIVE_INFINITY
      for (const [at, one] of steps.entries())
        if (one.kind === 'begin') {
          state.now += one.rest
          // One that begins where the last one ended confirms nothing.
          look = { end: gone.look(), at: state.now > lookedAt ? at : -1 }
        } else if (one.kind === 'end') {
          if (look === undefined) continue
          const { end, at: begunAt } = look
          look = undefined
          end(missing(one.lost), new Set(ids(60)))
          lookedAt = state.now
          for (const [key, first] of inferred) if (first.at < begunAt && !one.lost.includes(key)) inferred.delete(key)
          for (const key of one.lost) {
            const first = inferred.get(key)
            inferred.set(key, { at: first?.at ?? at, isConfirmed: first !== undefined && first.at < begunAt })
          }
        } else if (one.kind === 'alive') {
          of(one.id).observe(LIVING)
          went.delete(one.id)
          inferred.delete(one.id)
        } else {
          if (one.why === 'unselected') of(one.id).observe({ isDeleting: false, isSelected: false })
          const isFree = await of(one.id).mayDelete(one.why)
          const first = inferred.get(one.id)
          if (first === undefined) inferred.set(one.id, { at, isConfirmed: false })
          if (!isFree || went.has(one.id)) continue
          expect(first?.isConfirmed).toBe(true)
          went.add(one.id)
          count++
        }
      // The share is one of all, with what went: sixty, and twenty, so the least is the limit.
      expect(count).toBeLessThanOrEqual(20)
    }),
  )
})
