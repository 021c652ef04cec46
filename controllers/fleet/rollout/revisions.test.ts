import { describe, expect, test } from 'vitest'
import { keptRevisions, type Revision, restoration, revisionFor } from './revisions.ts'

const score = (word: string) => ({ type: 'Process' as const, data: { command: [word] } })
const history = (...words: readonly string[]): Revision[] => {
  const made: Revision[] = []
  for (const word of words)
    made.push(revisionFor(made, { generation: made.length + 1, score: score(word) }, undefined).revision)
  return made
}
const numbers = (revisions: readonly Revision[]) => revisions.map(({ revision }) => revision)

describe('the revision of a spec', () => {
  test('is the first at the beginning, and a new one for every other workload', () => {
    expect(numbers(history('a', 'b', 'a'))).toEqual([1, 2, 3])
  })

  test('is the present one while the workload is the same, whatever else of the spec changed', () => {
    const [a] = history('a')
    expect(revisionFor(history('a'), { generation: 9, score: score('a') }, undefined)).toEqual({
      revision: a,
      isNew: false,
    })
  })
})

describe('going back', () => {
  test('abort_restores_previous_revision, as a revision of its own', () => {
    const before = history('a', 'b')
    const back = restoration(before, 1, 2)
    expect(back).toEqual({
      revision: {
        revision: 3,
        generation: 2,
        score: score('a'),
        digest: before[0]?.digest,
        refused: before[1]?.digest,
      },
      refused: before[1]?.digest,
    })
  })

  test('holds while the spec still asks for what was taken back, and ends when it asks for something else', () => {
    const before = history('a', 'b')
    const back = restoration(before, 1, 2)
    if (back === undefined) throw new Error('nothing to go back to')
    const after = [...before, back.revision]
    expect(revisionFor(after, { generation: 2, score: score('b') }, back.refused).revision.revision).toBe(3)
    expect(revisionFor(after, { generation: 3, score: score('c') }, back.refused).revision.revision).toBe(4)
  })

  test('is impossible without what is to come back', () => {
    expect(restoration(history('a', 'b'), 7, 2)).toBeUndefined()
    expect(restoration(history('a', 'b'), undefined, 2)).toBeUndefined()
    expect(restoration(history('a'), 1, 1)).toBeUndefined()
  })
})

test('the limit keeps so many before the present one, and all that devices still have', () => {
  const all = history('a', 'b', 'c', 'd')
  expect(numbers(keptRevisions(all, 0, new Set()))).toEqual([4])
  expect(numbers(keptRevisions(all, 2, new Set()))).toEqual([4, 3, 2])
  expect(numbers(keptRevisions(all, 1, new Set([1])))).toEqual([4, 3, 1])
})
