import { describe, expect, test } from 'vitest'
import { buildRestoration, findOrBuildRevision, type Revision, selectKeptRevisions } from './revisions.ts'

const score = (word: string) => ({ type: 'Process' as const, data: { command: [word] } })
const history = (...words: readonly string[]): Revision[] => {
  const made: Revision[] = []
  for (const word of words)
    made.push(findOrBuildRevision(made, { generation: made.length + 1, score: score(word) }, undefined).revision)
  return made
}
const numbers = (revisions: readonly Revision[]) => revisions.map(({ revision }) => revision)

describe('the revision of a spec', () => {
  test('is the first at the beginning, and a new one for every other workload', () => {
    expect(numbers(history('a', 'b', 'a'))).toEqual([1, 2, 3])
  })

  test('is the present one while the workload is the same, whatever else of the spec changed', () => {
    const [a] = history('a')
    expect(findOrBuildRevision(history('a'), { generation: 9, score: score('a') }, undefined)).toEqual({
      revision: a,
      isNew: false,
    })
  })
})

test('a revision whose number was given away by a history that was lost is given anew, above all of those', () => {
  const spec = { generation: 9, score: score('a') }
  expect(findOrBuildRevision(history('a'), spec, undefined, 0)).toMatchObject({
    revision: { revision: 1 },
    isNew: false,
  })
  expect(findOrBuildRevision(history('a'), spec, undefined, 1)).toMatchObject({
    revision: { revision: 2 },
    isNew: true,
  })
  expect(findOrBuildRevision(history('a'), spec, undefined, 5)).toMatchObject({
    revision: { revision: 6 },
    isNew: true,
  })
})

describe('going back', () => {
  // FLEET-40
  test('abort_restores_previous_revision, as a revision of its own', () => {
    const before = history('a', 'b')
    const back = buildRestoration(before, 1, 2)
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
    const back = buildRestoration(before, 1, 2)
    if (back === undefined) throw new Error('nothing to go back to')
    const after = [...before, back.revision]
    expect(findOrBuildRevision(after, { generation: 2, score: score('b') }, back.refused).revision.revision).toBe(3)
    expect(findOrBuildRevision(after, { generation: 3, score: score('c') }, back.refused).revision.revision).toBe(4)
  })

  // FLEET-40
  test('a commit that takes it back is no revision of its own, and the same workload once more stays refused', () => {
    const before = history('a', 'b')
    const back = buildRestoration(before, 1, 2)
    if (back === undefined) throw new Error('nothing to go back to')
    const after = [...before, back.revision]
    const next = (name: string) => findOrBuildRevision(after, { generation: 3, score: score(name) }, back.refused)
    expect(next('a')).toEqual({ revision: back.revision, isNew: false })
    expect(next('b')).toEqual({ revision: back.revision, isNew: false })
  })

  test('is impossible without what is to come back', () => {
    expect(buildRestoration(history('a', 'b'), 7, 2)).toBeUndefined()
    expect(buildRestoration(history('a', 'b'), undefined, 2)).toBeUndefined()
    expect(buildRestoration(history('a'), 1, 1)).toBeUndefined()
  })
})

// FLEET-49
test('the limit keeps so many before the present one, and all that devices still have', () => {
  const all = history('a', 'b', 'c', 'd')
  expect(numbers(selectKeptRevisions(all, 0, new Set()))).toEqual([4])
  expect(numbers(selectKeptRevisions(all, 2, new Set()))).toEqual([4, 3, 2])
  expect(numbers(selectKeptRevisions(all, 1, new Set([1])))).toEqual([4, 3, 1])
})
