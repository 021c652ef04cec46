import { lexer, type Tokens } from 'marked'
import { expect, test } from 'vitest'
import { readPage } from './page.ts'

/** Flags and their defaults in the tables of a page, of the commands whose heading fits. */
const flagsOf = async (path: string, fits: RegExp): Promise<ReadonlyMap<string, string>> => {
  let heading = ''
  const flags = new Map<string, string>()
  for (const token of lexer((await readPage(path)).text)) {
    if (token.type === 'heading') heading = (token as Tokens.Heading).text
    if (token.type !== 'table' || !fits.test(heading)) continue
    const { header, rows } = token as Tokens.Table
    const at = header.findIndex(({ text }) => text.toLowerCase() === 'default')
    for (const row of rows) flags.set(/--[\w-]+/.exec(row[0]?.text ?? '')?.[0] ?? '', row[at]?.text ?? '')
  }
  return flags
}

test('docs/operate.md tunes by flags that there are, and says their defaults', async () => {
  const there = await flagsOf('docs/reference/flags.md', /^muster (manager|api)$/)
  const told = await flagsOf('docs/operate.md', /^Tune$/)
  expect(told.size).toBeGreaterThan(0)
  expect([...told]).toEqual([...told.keys()].map((flag) => [flag, there.get(flag)]))
})
