/** The table "From Git to production" of docs/contributing.md: each journey has its pages, and tests that say which one they show. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lexer, type Tokens } from 'marked'
import { expect, test } from 'vitest'
import { REPOSITORY, readPage } from './page.ts'

const { text } = await readPage('docs/contributing.md')

const journeys = lexer(text)
  .filter((token): token is Tokens.Table => token.type === 'table' && token.header[0]?.text === 'journey')
  .flatMap(({ rows }) =>
    rows.map(([journey, , tests]) => ({
      number: Number.parseInt(journey?.text ?? '', 10),
      tests: [...(tests?.text ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
    })),
  )

/** Numbers of the journeys that a file says it shows. */
const shownBy = (path: string): readonly number[] =>
  [...readFileSync(join(REPOSITORY, path), 'utf8').matchAll(/^ *\/\/ Journey (\d+)\b/gm)].map(([, n]) => Number(n))

test('each of the eight journeys has tests', () => {
  expect(journeys.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect(journeys.filter(({ tests }) => tests.length === 0)).toEqual([])
})

test('each test of a journey says so, and each that says so stands in the table', () => {
  const listed = journeys.flatMap(({ number, tests }) => tests.map((path) => `${number} ${path}`))
  const marked = globSync('test/**/*.test.ts', { cwd: REPOSITORY }).flatMap((path) =>
    [...new Set(shownBy(path))].map((number) => `${number} ${path}`),
  )
  expect(marked.toSorted()).toEqual(listed.toSorted())
})
