/** Whether a test that a page names really runs a block of it: a mark that only names a file of tests says nothing. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Block, Page } from './page.ts'
import { REPOSITORY } from './page.ts'

/** What reads pages, and what all tests share: neither is about one page. */
const SHARED = /^test\/(integration\/docs|harness)\//

/** So many characters of a command at least name a block. */
const MIN_PIECE = 8

/**
 * A test, with what it imports from test/, reads the page by its path, and names either the heading above the block or a piece of
 * its commands. @returns why not; undefined when it does
 */
export const notRunBy = (test: string, page: Pick<Page, 'path' | 'text'>, block: Block): string | undefined => {
  if (!existsSync(join(REPOSITORY, test))) return `${test} is not there`
  const literals = literalsOf(test)
  if (!literals.has(page.path)) return `${test} does not read ${page.path}`
  const heading = headingAbove(page, block)
  const isNamed = [...literals].some(
    (text) => text === heading || (text.length >= MIN_PIECE && text !== page.path && block.commands.includes(text)),
  )
  return isNamed ? undefined : `${test} names neither "${heading}" nor a piece of the commands`
}

/** Texts in quotes of a file and of those that it imports. */
const literalsOf = (test: string): ReadonlySet<string> => {
  const literals = new Set<string>()
  const seen = new Set<string>()
  const visit = (path: string): void => {
    if (seen.has(path) || SHARED.test(path)) return
    seen.add(path)
    const code = readFileSync(join(REPOSITORY, path), 'utf8').replaceAll(/^\s*(\/\*\*|\*|\/\/).*$/gm, '')
    for (const [, imported = ''] of code.matchAll(/^(?:import|export)?[^'\n]* from '([^']+)'/gm)) {
      const found = importedPath(path, imported)
      if (found !== undefined) visit(found)
    }
    for (const [, text = ''] of code.matchAll(/'([^'\n]*)'/g)) literals.add(text)
  }
  visit(test)
  return literals
}

/** Of a module of test/, from the repository's root. */
const importedPath = (from: string, imported: string): string | undefined => {
  if (imported.startsWith('#test/')) return imported.slice(1)
  if (!imported.startsWith('.')) return undefined
  const path = relative(REPOSITORY, join(REPOSITORY, dirname(from), imported))
  return path.startsWith('test/') ? path : undefined
}

/** The nearest heading above a block. */
const headingAbove = ({ text }: Pick<Page, 'text'>, { commands }: Block): string | undefined => {
  const lines = text.split('\n')
  const first = commands.split('\n')[0] ?? ''
  const at = lines.findIndex((line) => line.trim() === first.trim())
  return lines
    .slice(0, at)
    .filter((line) => /^##+ /.test(line))
    .at(-1)
    ?.replace(/^#+ /, '')
}
