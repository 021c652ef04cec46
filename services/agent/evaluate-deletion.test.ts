import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { evaluateDeletion, laterPosition, SERVER_CLOCK_TOLERANCE_MS, type StorePosition } from './evaluate-deletion.ts'

const HOUR = 3_600_000
const NOON = Date.parse('2026-01-01T12:00:00Z')
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
  expect(evaluateDeletion(deletion, entry).verdict).toBe(verdict)
})

test('where no position is known a deletion is one', () => {
  expect(evaluateDeletion({ revision: 1, at: 0 }, undefined)).toEqual({ verdict: 'Remove' })
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

describe('whatever becomes of the store', () => {
  // AGENT-26
  test('a device stops what it was told to run only by a deletion that was written after that', () => {
    fc.assert(
      fc.property(happenings, (all) => {
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
          else if (store.key?.isEntry === true) told = laterPosition(told, store.key)
          else if (store.key !== undefined && told !== undefined) {
            const isLater = store.key.at > told.at
            expect(evaluateDeletion(store.key, told).verdict).toBe(isLater ? 'Remove' : 'Older')
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
        expect(evaluateDeletion(deletion, { revision, at: NOON }).verdict).toBe('Remove')
      }),
    )
  })
})
