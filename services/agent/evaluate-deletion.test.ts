import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  DEVICE_CLOCK_TOLERANCE_MS,
  evaluateDeletion,
  laterPosition,
  SERVER_CLOCK_TOLERANCE_MS,
  type StorePosition,
} from './evaluate-deletion.ts'

const HOUR = 3_600_000
const NOON = Date.parse('2026-01-01T12:00:00Z')
const YEAR = 365 * 24 * HOUR
const entry = { revision: 15, at: NOON }

// AGENT-26
test.for<[string, StorePosition, string]>([
  ['after the entry', { revision: 16, at: NOON + HOUR }, 'Remove'],
  ['of a restored backup', { revision: 10, at: NOON - HOUR }, 'Older'],
  ['after a backup was restored', { revision: 11, at: NOON + HOUR }, 'Remove'],
  ['of the store before this one, which had come further', { revision: 900, at: NOON - HOUR }, 'Older'],
  ['by a server whose clock is a little behind', { revision: 16, at: NOON - 2_000 }, 'Remove'],
  ['in the same moment, and before', { revision: 14, at: NOON }, 'Older'],
])('a deletion %s', ([, deletion, verdict]) => {
  expect(evaluateDeletion(deletion, entry, NOON + HOUR).verdict).toBe(verdict)
})

test('where no position is known a deletion is one', () => {
  expect(evaluateDeletion({ revision: 1, at: 0 }, undefined, NOON)).toEqual({ verdict: 'Remove' })
})

// AGENT-26
describe('attack: the server says of the entry that runs that it is of a time to come', () => {
  const forged = { revision: 15, at: NOON + 74 * YEAR }
  const deletion = { revision: 16, at: NOON + HOUR }

  test('a deletion stops the program all the same', () => {
    expect(evaluateDeletion(deletion, laterPosition(entry, forged, NOON), NOON + HOUR).verdict).toBe('Remove')
    expect(evaluateDeletion(deletion, laterPosition(undefined, forged, NOON), NOON + HOUR).verdict).toBe('Remove')
  })

  test('what was known is not forgotten, and what was made up is when the entry is told again', () => {
    expect(laterPosition(entry, forged, NOON)).toEqual(entry)
    expect(laterPosition(forged, entry, NOON)).toEqual(entry)
  })

  test('while the clock is behind the deletion is left alone, and it stops the program when the clock is right', () => {
    const booted = NOON - 20 * YEAR
    const position = laterPosition(entry, forged, booted)
    expect(evaluateDeletion(deletion, position, booted).verdict).toBe('Older')
    expect(evaluateDeletion(deletion, position, NOON + HOUR).verdict).toBe('Remove')
  })
})

/**
 * What happens to one key. Each store counts its revisions and is never told of another; a backup may be put back at any time.
 * The last entry or deletion of the key that is written is what is wanted of it.
 */
type Happening = 'write' | 'delete' | 'writeOther' | 'backup' | 'restore' | 'wipe' | 'look'
type Store = { readonly last: number; readonly key: (StorePosition & { readonly isEntry: boolean }) | undefined }
const EMPTY: Store = { last: 0, key: undefined }

const happenings = fc.array(
  fc.constantFrom<Happening>('write', 'delete', 'writeOther', 'backup', 'restore', 'wipe', 'look'),
  { maxLength: 40 },
)

/** Milliseconds by which the device's clock may be wrong: ahead by years, behind by hours, or behind everything that happens. */
const clockErrors = fc.oneof(
  fc.integer({ min: -DEVICE_CLOCK_TOLERANCE_MS, max: 20 * YEAR }),
  fc.integer({ min: -20 * YEAR, max: -YEAR }),
)

describe('whatever becomes of the store, and whatever time the device takes it to be', () => {
  // AGENT-26
  test('a device stops what it was told to run only by a deletion that was written after that', () => {
    fc.assert(
      fc.property(happenings, clockErrors, (all, error) => {
        let [store, backup]: [Store, Store] = [EMPTY, EMPTY]
        let told: StorePosition | undefined
        let at = NOON
        const write = (isEntry: boolean) => {
          const revision = store.last + 1
          store = { last: revision, key: { revision, at, isEntry } }
        }
        for (const happening of all) {
          // Longer than clocks of servers may differ: what is nearer is ordered by its revision.
          at += SERVER_CLOCK_TOLERANCE_MS + 1
          if (happening === 'write') write(true)
          else if (happening === 'delete') write(false)
          else if (happening === 'writeOther') store = { ...store, last: store.last + 1 }
          else if (happening === 'backup') backup = store
          else if (happening === 'restore') store = backup
          else if (happening === 'wipe') store = EMPTY
          else if (store.key?.isEntry === true) told = laterPosition(told, store.key, at + error)
          else if (store.key !== undefined && told !== undefined) {
            const isLater = store.key.at > told.at
            expect(evaluateDeletion(store.key, told, at + error).verdict).toBe(isLater ? 'Remove' : 'Older')
            if (isLater) told = undefined
          }
        }
      }),
    )
  })

  test('within one store revisions decide, though the clock of its server went back a little', () => {
    const seconds = fc.integer({ min: 0, max: SERVER_CLOCK_TOLERANCE_MS })
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 100 }), seconds, (revision, more, back) => {
        const deletion = { revision: revision + more, at: NOON - back }
        expect(evaluateDeletion(deletion, { revision, at: NOON }, NOON).verdict).toBe('Remove')
      }),
    )
  })
})
