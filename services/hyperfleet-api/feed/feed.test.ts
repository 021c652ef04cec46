import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { silent } from '#operator/model/log.ts'
import type { ChangeSource } from './change-source.ts'
import type { Change } from './changes.ts'
import { createFeed } from './feed.ts'

/** What happens to a database, one after the other. */
type Step =
  /** A writer takes a version. */
  | { readonly type: 'begin' }
  /** One of those that write commits, or undoes. */
  | { readonly type: 'commit' | 'undo'; readonly which: number }
  /** Everything up to a committed version is forgotten. */
  | { readonly type: 'trim'; readonly which: number }
  /** It goes on with the first that happened to it and no more: lost commits, a volume put back. */
  | { readonly type: 'put back'; readonly which: number }
  /** Other tables are there, from a dump that has so many changes. */
  | { readonly type: 'replace'; readonly which: number }
  /** The sequence is put back to the dump's, as pg_restore does at its end, when a history has begun on the rows already. */
  | { readonly type: 'rewind'; readonly which: number }
  /** The feed reads, until it has nothing to do, or waits for a writer. */
  | { readonly type: 'read' }

const HISTORY_STEP = 1_000
/** Changes that the feed gets at a time. */
const MAX_READ = 5
const at = <T>(list: readonly T[], which: number): T | undefined => list[which % list.length]

/**
 * A database as PostgreSQL is one: versions are given out before commits, and gaps stay where writers undo. After it was put
 * back, restored or rewound its versions go on at any that were told, until a history begins: with the first connection to
 * another run, or the next read.
 */
const scriptedDatabase = () => {
  let next = 1
  /** The greatest version that any history has come to. */
  let newest = 0
  let origin: 'same' | 'another run' | 'other tables' = 'same'
  let count = 0
  let floor = 0
  let writing: number[] = []
  let committed: Change[] = []
  /** Of the present history, forgotten or not. */
  let ever: Change[] = []
  /** Commits and trims, as they happened. */
  let log: (Change | { readonly floor: number })[] = []
  let gaps: { readonly after: number; readonly upto: number }[] = []
  let nextStep = Promise.withResolvers<void>()
  const change = (version: number): Change => ({
    version,
    type: 'added',
    kind: 'Cluster',
    ownerId: undefined,
    labelsBefore: {},
    labels: {},
    document: `${version}, number ${count}`,
  })
  const source: ChangeSource = {
    read: async ({ after, upTo = Infinity }) => {
      if (next <= Math.max(after, floor, ...committed.map(({ version }) => version))) origin = 'other tables'
      beginHistory()
      const found = committed
        .filter(({ version }) => version > after && version <= upTo)
        .toSorted((a, b) => a.version - b.version)
      const ends = gaps.filter((gap) => gap.after < after && after < gap.upto).map(({ upto }) => upto)
      return { changes: found.slice(0, MAX_READ), isLast: found.length <= MAX_READ, floor: Math.max(floor, ...ends) }
    },
    readVersions: async (range) => {
      const { changes, ...batch } = await source.read(range)
      return { ...batch, changes: changes.map(({ version }) => ({ version })) }
    },
    stableVersion: async () => {
      const newest = Math.max(floor, ...committed.map(({ version }) => version))
      const awaited = new Set(writing)
      while (writing.some((version) => awaited.has(version))) await nextStep.promise
      return newest
    },
  }
  const ended = (): void => {
    nextStep.resolve()
    nextStep = Promise.withResolvers()
  }
  const run = (step: Step): void => {
    apply(step)
    ended()
  }
  const commit = (change: Change): void => {
    committed.push(change)
    ever.push(change)
    log.push(change)
  }
  const trim = (to: number): void => {
    floor = to
    committed = committed.filter((kept) => kept.version > floor)
    log.push({ floor })
  }
  const forget = (): void => {
    writing = []
    committed = []
    ever = []
    log = []
    floor = 0
  }
  /** The newest version up to which none is missing but where gaps are known. */
  const lastComplete = (): number => {
    const versions = committed.map(({ version }) => version).toSorted((a, b) => a - b)
    let complete = floor
    for (const version of versions) {
      const ended = Math.max(0, ...gaps.filter(({ upto }) => upto < version).map(({ upto }) => upto))
      if (version > Math.max(complete, ended) + 1) return Math.max(complete, ended)
      complete = version
    }
    return complete
  }
  const beginHistory = (): void => {
    if (origin === 'same') return
    const begin = (Math.floor(Math.max(next, newest) / HISTORY_STEP) + 1) * HISTORY_STEP
    if (origin === 'another run') gaps.push({ after: lastComplete(), upto: begin })
    else {
      // Versions of writers under way are waited for.
      writing = []
      gaps = []
      trim(begin)
    }
    newest = begin
    next = begin + 1
    origin = 'same'
  }
  const apply = (step: Step): void => {
    switch (step.type) {
      case 'begin':
        if (origin === 'another run') beginHistory()
        // A version that is there is refused by the table's key.
        while (committed.some(({ version }) => version === next)) next += 1
        newest = Math.max(newest, next)
        writing.push(next++)
        return
      case 'commit':
      case 'undo': {
        const version = at(writing, step.which)
        if (version === undefined) return
        writing = writing.filter((other) => other !== version)
        if (step.type === 'undo') return
        count += 1
        commit(change(version))
        return
      }
      case 'trim': {
        // Hours later: no writer is under way for so long.
        const old = committed.filter(({ version }) => writing.every((other) => version < other))
        trim(Math.max(floor, at(old, step.which)?.version ?? 0))
        return
      }
      case 'put back': {
        const kept = log.slice(0, step.which % (log.length + 1))
        forget()
        for (const entry of kept)
          if ('floor' in entry) trim(entry.floor)
          else commit(entry)
        next = Math.max(floor, ...committed.map(({ version }) => version)) + 1
        if (origin === 'same') origin = 'another run'
        return
      }
      case 'replace':
        forget()
        gaps = []
        next = 1 + (step.which % (newest + 1))
        origin = 'other tables'
        return
      case 'rewind':
        if (floor < HISTORY_STEP) return
        writing = []
        next = 1 + step.which
        return
      case 'read':
        return
    }
  }
  return {
    source,
    run,
    /** All that write undo. */
    rest: () => {
      writing = []
      ended()
    },
    ever: (): readonly Change[] => ever,
    committed: () => committed.toSorted((a, b) => a.version - b.version),
  }
}

const index = fc.nat({ max: 20 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Step>({ type: 'begin' }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constantFrom('commit' as const, 'undo' as const), which: index }) },
  { weight: 5, arbitrary: fc.constant<Step>({ type: 'read' }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('trim' as const), which: index }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('put back' as const), which: index }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constantFrom('replace' as const, 'rewind' as const), which: index }),
  },
)

/** Tables that were exchanged, written to and put back before anything was read: they are others all the same. */
const EXCHANGED_AND_PUT_BACK: readonly Step[] = [
  { type: 'begin' },
  { type: 'commit', which: 0 },
  { type: 'read' },
  { type: 'replace', which: 0 },
  { type: 'begin' },
  { type: 'commit', which: 0 },
  { type: 'put back', which: 1 },
]

// API-40, API-73, API-98
test('however writers commit, undo and are lost, and whatever version they go on at: every change is told once and in order, or the subscriber is told that it missed some', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const database = scriptedDatabase()
      let wake = (): void => undefined
      const onWake = (_topic: string, listener: () => void) => {
        wake = listener
        return () => undefined
      }
      const feed = await createFeed(database.source, { onWake }, silent)
      let told: Change[] = []
      let last = 0
      let isOrdered = true
      let heads: number[] = [feed.head]
      const stop = feed.subscribe({
        change: (change) => {
          isOrdered &&= change.version > last
          last = change.version
          told.push(change)
        },
        // A watcher that missed some begins anew, with what is there now.
        changesLost: () => {
          told = [...database.ever()]
        },
      })
      const read = async () => {
        wake()
        for (let n = 0; n < 10; n += 1) await turn()
        heads = [...heads, feed.head]
      }
      for (const next of steps) {
        database.run(next)
        if (next.type === 'read') await read()
      }
      database.rest()
      await read()
      expect(isOrdered).toBe(true)
      expect(heads).toEqual(heads.toSorted((a, b) => a - b))
      // Neither is a change missed, nor one believed that another history lost.
      expect(documentsOf(told)).toEqual(documentsOf(database.ever()))
      expect(feed.head).toBeGreaterThanOrEqual(database.committed().at(-1)?.version ?? 0)
      stop()
      await feed.close()
    }),
    { numRuns: 3_000, examples: [[[...EXCHANGED_AND_PUT_BACK]]] },
  )
})

/** Without repetitions: a watcher that begins anew may be told what it has. */
const documentsOf = (changes: readonly Change[]): string[] =>
  [...new Set(changes.map(({ document }) => document))].sort((a, b) => (a < b ? -1 : 1))

// API-151
test('while none watches no document is read; one that comes meanwhile is told of the changes whole', async () => {
  const database = scriptedDatabase()
  let read = 0
  let onVersions = (): void => undefined
  const source: ChangeSource = {
    ...database.source,
    read: (range) => {
      read += 1
      return database.source.read(range)
    },
    readVersions: async (range) => {
      const batch = await database.source.readVersions(range)
      onVersions()
      return batch
    },
  }
  const feed = await createFeed(source, { onWake: () => () => undefined }, silent)
  read = 0
  const change = () => {
    database.run({ type: 'begin' })
    database.run({ type: 'commit', which: 0 })
  }
  change()
  await feed.catchUp()
  expect([feed.head, read]).toEqual([1, 0])
  const told: Change[] = []
  onVersions = () => {
    onVersions = () => undefined
    feed.subscribe({ change: (change) => told.push(change), changesLost: () => undefined })
  }
  change()
  await feed.catchUp()
  expect(told).toEqual(database.committed().slice(1))
  await feed.close()
})
