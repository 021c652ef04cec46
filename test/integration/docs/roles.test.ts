/** The table of roles in docs/security.md: each line is tried by a test, and what `muster security check` names is a line of it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LINES } from '#cmd/security/lines.ts'
import { REPOSITORY, readPage } from './page.ts'

const { text } = await readPage('docs/security.md')

const ROWS = [...text.matchAll(/^\| (.+?) \| (.+?) \| `(.+?)`: “(.+?)” \|$/gm)].map(
  ([, role = '', mustNot = '', file = '', name = '']) => ({ role, mustNot, file, name }),
)

test('the table has the roles of the design, a line or more each', () => {
  expect(new Set(ROWS.map(({ role }) => role)).size).toBe(14)
  const table = text.slice(text.indexOf('| role | must not |')).split('\n\n')[0] ?? ''
  // But for its two lines of heading.
  expect(ROWS).toHaveLength(table.split('\n').length - 2)
})

test.each(ROWS)('a $role must not $mustNot: there is a test that tries it', ({ file, name }) => {
  expect(readFileSync(join(REPOSITORY, file), 'utf8')).toContain(`${name}'`)
})

// SECURITY-1
test.each(Object.values(LINES))('muster security check names a line of it: a $role must not $mustNot', (line) => {
  expect(ROWS.map(({ role, mustNot }) => ({ role, mustNot }))).toContainEqual(line)
})
