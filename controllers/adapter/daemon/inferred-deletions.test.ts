import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BRAKE_WINDOW_MS } from '#operator/model/deletion-brake.ts'
import {
  describeHeld,
  type HeldResources,
  InferredDeletions,
  type InferredDeletionsOptions,
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
  const state = { now: 0, released: undefined as string | undefined, recorded: 0, isStatusRefused: false }
  const gone = new InferredDeletions({
    released: () => state.released,
    now: () => state.now,
    onChange: (held: HeldResources | undefined) => shown.push(held?.deletions.length),
    record: async () => {
      if (state.isStatusRefused) throw new Error('403')
      state.recorded = gone.recent.length
    },
    ...(before !== undefined && { before }),
  })
  const of = (id: string) => gone.of(id, () => `uid-${id}`)
  const mayDelete = async (names: readonly string[]) => {
    const free: string[] = []
    for (const id of names) if (await of(id).mayDelete('gone')) free.push(id)
    return free
  }
  return { gone, of, mayDelete, shown, state }
}

describe('ADAPTER-75: resources that are gone without having been deleted', () => {
  test('few go', async () => {
    const { gone, mayDelete } = world()
    expect([...gone.review(missing(ids(20)), new Set(ids(50)))]).toEqual(ids(20))
    expect(await mayDelete(ids(20))).toEqual(ids(20))
    expect(gone.held).toBeUndefined()
  })

  test('of many that are seen together none goes, and they are shown once', async () => {
    const { gone, mayDelete, shown } = world()
    const known = new Set(ids(50))
    expect([...gone.review(missing(ids(21)), known)]).toEqual([])
    expect(await mayDelete(ids(21))).toEqual([])
    gone.review(missing(ids(21)), known)
    expect(shown).toEqual([21])
  })

  test('one after the other, so many go as are few; in steps within ten minutes they are as many', async () => {
    const { gone, mayDelete, state } = world()
    expect(await mayDelete(ids(30))).toEqual(ids(20))
    state.now = BRAKE_WINDOW_MS - 1
    // The first twenty are gone altogether; more are found missing.
    expect([...gone.review(missing(ids(2, 30)), new Set(ids(300, 30)))]).toEqual([])
  })

  test('a tenth of what there is is few', () => {
    const { gone } = world()
    expect(gone.review(missing(ids(100)), new Set(ids(1000))).size).toBe(100)
    expect(world().gone.review(missing(ids(101)), new Set(ids(1000))).size).toBe(0)
  })

  test('when the API has them again nothing is held, and nothing went', () => {
    const { gone, shown } = world()
    gone.review(missing(ids(30)), new Set(ids(30)))
    gone.review([], new Set(ids(30)))
    expect([gone.held, shown]).toEqual([undefined, [30, undefined]])
  })

  test('an earlier deletion of a resource that lives again counts for nothing', async () => {
    const { of, mayDelete } = world()
    for (const id of ids(30)) of(id).observe(ORDERED)
    for (const id of ids(30)) of(id).observe(LIVING)
    expect(await mayDelete(ids(30))).toHaveLength(20)
  })

  test('a deletion that has begun goes on, however long it takes, and is not counted again', async () => {
    const { gone, mayDelete } = world()
    expect(await mayDelete(ids(5))).toEqual(ids(5))
    const known = new Set(ids(40))
    gone.review(missing(ids(40)), known)
    expect(await mayDelete(ids(40))).toEqual(ids(5))
    expect([...gone.review(missing(ids(40)), known)]).toEqual(ids(5))
  })
})

describe('RUNTIME-71: the count outlives the process', () => {
  test('what may go is written down first; when that fails it may not', async () => {
    const { of, mayDelete, state } = world()
    await mayDelete(ids(3))
    expect(state.recorded).toBe(3)
    state.isStatusRefused = true
    await expect(of('c3').mayDelete('gone')).rejects.toThrow('403')
    await expect(of('c3').mayDelete('gone')).rejects.toThrow('403')
    state.isStatusRefused = false
    expect(await mayDelete(['c3'])).toEqual(['c3'])
  })

  test('what could not be written down, and so was not deleted, does not count', async () => {
    const { gone, mayDelete, state } = world()
    state.isStatusRefused = true
    for (let attempt = 0; attempt < 25; attempt++) await expect(mayDelete(['c1'])).rejects.toThrow('403')
    expect(gone.recent).toEqual([])
    state.isStatusRefused = false
    expect(await mayDelete(ids(20))).toEqual(ids(20))
  })

  test('the next process lets through no more than what is left of it', async () => {
    const { mayDelete, gone } = world({ recent: Array(15).fill(0), isHolding: false })
    expect(await mayDelete(ids(30))).toEqual(ids(5))
    expect(gone.recent).toHaveLength(20)
  })

  test('ADAPTER-109: what it counted and has not ended goes on in the next process, and is counted once', async () => {
    const { mayDelete, gone } = world()
    await mayDelete(ids(15))
    const next = world({ recent: gone.recent, isHolding: false, begun: gone.begun })
    expect([...next.gone.review(missing(ids(20)), new Set(ids(60)))]).toEqual(ids(20))
    expect(await next.mayDelete(ids(20))).toEqual(ids(20))
    expect([next.gone.recent.length, next.gone.begun.length]).toEqual([20, 20])
    expect(next.gone.review(missing(ids(21)), new Set(ids(60))).size).toBe(20)
  })

  test('ADAPTER-109: of what has begun and lives again, or is another one of its id, nothing is free', async () => {
    const begun = ids(20).map((id) => ({ uid: `uid-${id}`, at: 0 }))
    const { gone, mayDelete } = world({ recent: Array(20).fill(0), isHolding: false, begun })
    gone.review([], new Set(ids(60)))
    expect([gone.review(missing(ids(20)), new Set(ids(60))).size, gone.begun]).toEqual([0, []])
    expect(await mayDelete(ids(20))).toEqual([])
    const other = world({ recent: Array(20).fill(0), isHolding: false, begun: [{ uid: 'uid-before', at: 0 }] })
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
    const { gone, mayDelete } = world({ recent: [], isHolding: true })
    expect([...gone.review(missing(ids(2)), new Set(ids(60)))]).toEqual([])
    expect(await mayDelete(ids(2))).toEqual([])
  })
})

describe('ADAPTER-76: what a person has ordered', () => {
  test('a resource that the API said is to be deleted goes, however many there are', async () => {
    const { gone, of, mayDelete } = world()
    for (const id of ids(100)) of(id).observe(ORDERED)
    expect(gone.review(missing(ids(100)), new Set(ids(100))).size).toBe(100)
    expect(await mayDelete(ids(100))).toHaveLength(100)
    expect(gone.held).toBeUndefined()
  })

  test('the release of a list is for what it names', async () => {
    const { gone, mayDelete, state } = world()
    const known = new Set(ids(60))
    gone.review(missing(ids(30)), known)
    state.released = gone.held?.release
    expect(describeHeld(gone.held as HeldResources)).toMatch(
      `never said that they are to be deleted: ${ids(20).join(', ')} and 10 more. More than 20 at once are held, and what was applied for them stays. Find out what happened to the API, to the labels or to the selector; release them with the annotation muster.dev/release-deletions=${state.released}`,
    )
    expect([...gone.review(missing(ids(60)), known)]).toEqual(ids(30))
    expect(await mayDelete(ids(60))).toEqual(ids(30))
    expect(gone.held?.deletions).toHaveLength(30)
  })
})

describe('ADAPTER-87: resources that live and are not selected any more', () => {
  const UNSELECTED = { isDeleting: false, isSelected: false }
  const unselected = (names: readonly string[]) =>
    names.map((key) => ({ key, revision: `uid-${key}`, why: 'unselected' as const }))

  test('count with those that are gone, and are told apart from them', async () => {
    const { gone } = world()
    expect([...gone.review([...missing(ids(11)), ...unselected(ids(11, 11))], new Set(ids(60)))]).toEqual([])
    expect(describeHeld(gone.held as HeldResources)).toMatch(
      `the HyperFleet API does not have 11 resources any more and never said that they are to be deleted: ${ids(11).join(', ')}; the task does not select 11 resources any more: ${ids(11, 11).join(', ')}. More than 20`,
    )
  })

  test('a run that only finds them unselected again counts nothing anew; selected again, nothing is held', async () => {
    const { gone, of } = world()
    for (let round = 0; round < 30; round++) {
      of('c1').observe(UNSELECTED)
      expect(await of('c1').mayDelete('unselected')).toBe(true)
    }
    expect(gone.recent).toHaveLength(1)
    gone.review(unselected(ids(30)), new Set(ids(30)))
    expect(gone.held?.deletions).toHaveLength(29)
    for (const id of ids(30)) of(id).observe(LIVING)
    gone.review([], new Set(ids(30)))
    expect(gone.held).toBeUndefined()
  })

  test('one that the API says is to be deleted is held no longer', async () => {
    const { gone, of } = world()
    gone.review(unselected(ids(30)), new Set(ids(30)))
    of('c7').observe({ isDeleting: true, isSelected: false })
    expect(await of('c7').mayDelete('unselected')).toBe(true)
    expect(await of('c8').mayDelete('unselected')).toBe(false)
  })
})

test('ADAPTER-75, ADAPTER-87: in any order of reviews, runs and observations no more than the limit goes without an order to delete it', async () => {
  const id = fc.integer({ min: 0, max: 59 }).map((at) => `c${at}`)
  const step = fc.oneof(
    fc.record({ kind: fc.constant('review' as const), lost: fc.uniqueArray(id, { minLength: 0, maxLength: 60 }) }),
    fc.record({ kind: fc.constant('run' as const), id, why: fc.constantFrom('gone' as const, 'unselected' as const) }),
    fc.record({ kind: fc.constant('alive' as const), id }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const { gone, of } = world()
      const went = new Set<string>()
      let count = 0
      for (const one of steps)
        if (one.kind === 'review') gone.review(missing(one.lost), new Set(ids(60)))
        else if (one.kind === 'alive') {
          of(one.id).observe(LIVING)
          went.delete(one.id)
        } else {
          if (one.why === 'unselected') of(one.id).observe({ isDeleting: false, isSelected: false })
          if (!(await of(one.id).mayDelete(one.why)) || went.has(one.id)) continue
          went.add(one.id)
          count++
        }
      // The share is one of all, with what went: sixty, and twenty, so the least is the limit.
      expect(count).toBeLessThanOrEqual(20)
    }),
  )
})
