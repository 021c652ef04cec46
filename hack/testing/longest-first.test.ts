import { expect, test } from 'vitest'
import { longestFirst } from './longest-first.ts'

const SECONDS: Readonly<Record<string, number>> = { a: 1, b: 30, c: 5, d: 40, e: 2 }

const file = (moduleId: string, name: string) => ({ moduleId, project: { name } })

test('the longest file of a project begins first, and no file of another project is between two of one: workers keep their modules', () => {
  const files = [
    file('a', 'unit'),
    file('b', 'unit'),
    file('c', 'integration'),
    file('d', 'integration'),
    file('e', 'unit'),
  ]
  const order = longestFirst(files, ({ moduleId }) => SECONDS[moduleId] ?? 0)
  expect(order.map(({ moduleId }) => moduleId)).toEqual(['d', 'c', 'b', 'e', 'a'])
})
