/** What was left behind is let go one by one: POOL-43, POOL-50. */
import { expect, test } from 'vitest'
import { ApiError } from '#operator/index.ts'
import { recorder } from '#test/harness/log.ts'
import { sweep } from './sweep.ts'

const objectsOf = (names: readonly string[]) =>
  names.map((name) => ({ metadata: { name, namespace: 'pools', uid: name, resourceVersion: '1' } }))

/** One look at these. @returns what was let go, the log, and how long the next look waits */
const look = async (names: readonly string[], failures: Readonly<Record<string, Error>>) => {
  const ending = new AbortController()
  const [released, lines, waits]: [string[], string[], unknown[]] = [[], [], []]
  const sleep = async (duration: unknown) => {
    waits.push(duration)
    ending.abort()
  }
  await sweep(
    {
      find: () => objectsOf(names),
      release: async ({ metadata: { name } }) => {
        const failure = failures[name]
        if (failure !== undefined) throw failure
        released.push(name)
      },
      describe: (key) => `${key} can't go yet`,
    },
    { api: {} as never, clock: { now: () => new Date(0), sleep }, log: recorder(lines), signal: ending.signal },
  )
  return { released, lines, waits }
}

test('one that can’t go stops no other, and is told as a warning', async () => {
  const { released, lines, waits } = await look(['a', 'b', 'c'], { b: new Error('denied') })
  expect(released).toEqual(['a', 'c'])
  expect(lines).toEqual([expect.stringMatching(/^warn pools\/b can't go yet; tried again/)])
  expect(waits).toEqual(['1m'])
})

test('one that was written meanwhile is looked at again soon, and one that is gone is no matter: neither is told', async () => {
  const answer = (status: number, reason: string) =>
    new ApiError({ apiVersion: 'v1', kind: 'Status', code: status, reason, message: reason } as never)
  const { released, lines, waits } = await look(['a', 'b', 'c'], {
    a: answer(409, 'Conflict'),
    b: answer(404, 'NotFound'),
  })
  expect([released, lines, waits]).toEqual([['c'], [], ['1s']])
})
