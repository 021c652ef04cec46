import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ReadingEnd } from './reading-end.ts'

/** A bucket that keeps one entry a key. */
class Store {
  readonly #revisions = new Map<number, number>()
  #last = 0

  write(key: number): void {
    this.#last += 1
    this.#revisions.set(key, this.#last)
  }

  /** Without a word: no deletion is left of it. */
  purge(key: number): void {
    this.#revisions.delete(key)
  }

  after(revision: number): readonly (readonly [key: number, revision: number])[] {
    return [...this.#revisions].filter(([, each]) => each > revision).toSorted(([, a], [, b]) => a - b)
  }

  get newest(): number {
    return Math.max(0, ...this.#revisions.values())
  }
}

type Change = { readonly do: 'write' | 'purge'; readonly key: number }
const isChange = (step: { readonly do: string }): step is Change => step.do === 'write' || step.do === 'purge'

/** A server that leads, one that follows it and sends, and a reader to which all of it comes late. */
class World {
  readonly leader = new Store()
  readonly end: ReadingEnd
  readonly read = new Set<number>()
  readonly #from: number
  readonly #follower = new Store()
  readonly #changes: Change[] = []
  #followed = 0
  #sent: number
  readonly #entries: (() => void)[] = []
  readonly #answers: (() => void)[] = []

  constructor(before: readonly Change[], followed: number, from: number) {
    for (const change of before) this.change(change)
    for (let n = 0; n < followed; n += 1) this.follow()
    this.#from = from
    this.#sent = from
    this.end = new ReadingEnd(from)
  }

  change(change: Change): void {
    this.leader[change.do](change.key)
    this.#changes.push(change)
  }

  follow(): boolean {
    const change = this.#changes[this.#followed]
    if (change === undefined) return false
    this.#follower[change.do](change.key)
    this.#followed += 1
    return true
  }

  send(): boolean {
    const [first, ...more] = this.#follower.after(this.#sent)
    if (first === undefined) return false
    const [key, revision] = first
    this.#sent = revision
    this.#entries.push(() => {
      this.read.add(key)
      this.end.read(revision, more.length)
    })
    return true
  }

  ask(): void {
    const [newest, read] = [this.leader.newest, this.end.revision]
    this.#answers.push(() => this.end.asked(newest, read))
  }

  arrive(): boolean {
    return next(this.#entries)
  }

  answer(): boolean {
    return next(this.#answers)
  }

  /** That there are to be read at the beginning. */
  get keys(): readonly number[] {
    return this.leader.after(this.#from).map(([key]) => key)
  }
}

const next = (queue: (() => void)[]): boolean => {
  const first = queue.shift()
  first?.()
  return first !== undefined
}

// FLEET-102
test('however a bucket is written, purged and asked while it is read, and however late all comes: at the end all was read that there was and stayed, and an end there is', () => {
  const key = fc.nat(4)
  const write = fc.record({ do: fc.constant('write' as const), key })
  const step = fc.oneof(
    { weight: 3, arbitrary: write },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('purge' as const), key }) },
    { weight: 9, arbitrary: fc.record({ do: fc.constantFrom('follow', 'send', 'arrive', 'ask', 'answer') }) },
  )
  fc.assert(
    fc.property(
      fc.array(write, { minLength: 2, maxLength: 8 }),
      fc.nat(8),
      fc.nat(4),
      fc.array(step, { minLength: 10, maxLength: 60 }),
      (before, followed, from, steps) => {
        const world = new World(before, Math.max(followed, from), from)
        const stayed = new Set(world.keys)
        const expectAll = () => {
          if (world.end.isReached) expect([...stayed].filter((each) => !world.read.has(each))).toEqual([])
        }
        for (const each of steps) {
          if (isChange(each)) {
            world.change(each)
            if (each.do === 'purge') stayed.delete(each.key)
          } else world[each.do]()
          expectAll()
        }
        const settle = () => {
          while (world.follow() || world.send() || world.arrive() || world.answer()) expectAll()
        }
        settle()
        world.ask()
        settle()
        expect(world.end.isReached).toBe(true)
      },
    ),
  )
})

test('one is overwritten before it comes, and others that came before are: their new values are not taken for it', () => {
  const end = new ReadingEnd()
  end.asked(2, 0)
  end.read(1, 1)
  // Now both are overwritten, as 3 and 4.
  end.read(3, 1)
  expect(end.isReached).toBe(false)
  end.read(4, 0)
  expect(end.isReached).toBe(true)
})

test('what was to come is purged: that nothing else is there counts, if that is all that had been read when it was asked', () => {
  const end = new ReadingEnd()
  end.asked(3, 0)
  end.read(1, 2)
  end.asked(1, 0)
  expect(end.isReached).toBe(false)
  end.asked(1, 1)
  expect(end.isReached).toBe(true)
})

test('of what there is nothing, nothing is to be read', () => {
  const end = new ReadingEnd()
  expect(end.isReached).toBe(false)
  end.asked(0, 0)
  expect(end.isReached).toBe(true)
})
