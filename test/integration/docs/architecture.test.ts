import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { lexer, type Tokens } from 'marked'
import { describe, expect, test } from 'vitest'
import { REPOSITORY, readPage } from './page.ts'

/** Holds docs/architecture.md to the code. */
const page = await readPage('docs/architecture.md')

/** The rows of the table of folders. Which may import which, biome.json says. */
const named = lexer(page.text)
  .filter((token): token is Tokens.Table => token.type === 'table' && token.header[0]?.text === 'folder')
  .flatMap(({ rows }) => rows.map(([folder]) => codes(folder)[0] ?? ''))

describe('the table of folders', () => {
  test.each(['apis', 'cmd', 'hack', 'test'])('names %s', (folder) => expect(named).toContain(folder))

  test.each(['lib', 'operator', 'controllers', 'services'])('names every folder below %s, and no other', (top) => {
    const below = named.filter((folder) => folder.startsWith(`${top}/`))
    expect(below.sort()).toEqual(foldersOf(top).map((folder) => `${top}/${folder}`))
  })

  test.each(['hack', 'kustomize', 'test'])('stands beside a table that names every folder below %s', (top) => {
    const missing = foldersOf(top).filter((folder) => !page.text.includes(`\`${top}/${folder}\``))
    expect(missing).toEqual([])
  })

  test('stands beside every other folder of the repository', () => {
    const tops = named.map((folder) => folder.split('/')[0])
    const others = foldersOf('.').filter((folder) => !tops.includes(folder))
    expect(others.filter((folder) => !page.text.includes(`\`${folder}`))).toEqual([])
  })
})

/** What is in `code` in a cell. */
function codes(cell: { readonly text: string } | undefined): readonly string[] {
  return [...(cell?.text ?? '').matchAll(/`([^`]+)`/g)].map(([, code]) => (code ?? '').replace(/\/$/, ''))
}

const foldersOf = (folder: string): readonly string[] =>
  readdirSync(join(REPOSITORY, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !IGNORED.includes(entry.name))
    .map(({ name }) => name)
    .sort()

const IGNORED = ['node_modules', 'dist']
