/**
 * The tables of docs/security.md: each line of the table of roles is tried by attacks, on real servers, and what `muster security check`
 * names is a line of it; what holds whom is shown by tests that are there, one of them on real servers.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LINES } from '#cmd/security/lines.ts'
import { REPOSITORY, readPage } from './page.ts'

const { text } = await readPage('docs/security.md')

/** The cells of the lines of a table, but for its two lines of heading. */
const linesOf = (heading: string): readonly (readonly string[])[] => {
  const table = text.slice(text.indexOf(heading)).split('\n\n')[0] ?? ''
  const [, , ...lines] = table.split('\n')
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const ROWS = linesOf('| role | must not |').map(([role = '', mustNot = '', shown = '']) => ({
  role,
  mustNot,
  attacks: shown.split('; `').map((part) => /^`?(?<file>[^`]+)`: “(?<title>.+)”$/.exec(part)?.groups ?? { part }),
}))

test('the table has the roles of the design, a line or more each', () => {
  expect(new Set(ROWS.map(({ role }) => role)).size).toBe(14)
})

test('what each role may do stands beside it', () => {
  const may = linesOf('| role | may | given by |').map(([role = '']) => role)
  expect(new Set(may)).toEqual(new Set(ROWS.map(({ role }) => role)))
})

/** Ids of rules may stand before a title, and what differs from case to case behind it. */
const isTitled = (source: string, title: string): boolean =>
  new RegExp(`^(?!.*describe).*'(?:[A-Z]+-\\d+[,:]? )*${RegExp.escape(title)}(?:: %s)?'`, 'm').test(source)

test.each(ROWS)('a $role must not $mustNot: an attack on real servers tries it', ({ attacks }) => {
  expect(attacks.length).toBeGreaterThan(0)
  for (const { file = '', title = '', part } of attacks) {
    expect(part).toBeUndefined()
    expect(title).toMatch(/^attack: /)
    expect(file).toMatch(/^test\/(integration|e2e)\//)
    expect({ title, isThere: isTitled(readFileSync(join(REPOSITORY, file), 'utf8'), title) }).toEqual({
      title,
      isThere: true,
    })
  }
})

// SECURITY-1
test.each(Object.values(LINES))('muster security check names a line of it: a $role must not $mustNot', (line) => {
  expect(ROWS.map(({ role, mustNot }) => ({ role, mustNot }))).toContainEqual(line)
})

describe('what holds whom', () => {
  /** `a/{b,c}.test.ts` are two. */
  const expanded = (path: string): readonly string[] => {
    const [, before, options, after] = /^(.*)\{(.+)\}(.*)$/.exec(path) ?? []
    return options === undefined ? [path] : options.split(',').map((option) => `${before}${option}${after}`)
  }

  test.each(linesOf('| who | could |').map(([who, could, , shown = '']) => ({ who, could, shown })))(
    '$who $could: tests show it, one of them on real servers',
    ({ shown }) => {
      const paths = [...shown.matchAll(/`(.+?)`/g)].flatMap(([, path = '']) => expanded(path))
      expect(paths.filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([])
      expect(paths.filter((path) => /^test\/(integration|e2e)\//.test(path))).not.toEqual([])
    },
  )
})
