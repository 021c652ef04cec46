import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { lexer, type Tokens } from 'marked'
import { describe, expect, test } from 'vitest'
import { REPOSITORY, readPage } from './page.ts'

/** Holds "Where a change goes" of docs/contributing.md to the code: each place is there, and each name stands in a place of its row. */
const page = await readPage('docs/contributing.md')

const rows = lexer(page.text)
  .filter((token): token is Tokens.Table => token.type === 'table' && token.header[0]?.text === 'to change')
  .flatMap((table) => table.rows.map(([change, place]) => [change?.text ?? '', codesIn(place?.text ?? '')] as const))

/** What the project promises that a newcomer finds, each by a word of its row. */
const PROMISED = [
  'condition of a pool',
  'default',
  'column',
  'searched',
  'metric',
  'banner',
  'version of Kubernetes',
  'new controller',
  'rollout',
  'patch that fails',
]

describe('where a change goes', () => {
  test.each(PROMISED)('has a row for: %s', (words) => {
    expect(rows.filter(([change]) => change.includes(words))).not.toEqual([])
  })

  test.each(rows)('%s: its places are there', (_, codes) => {
    expect(codes.filter(isPath).filter((path) => !isThere(path))).toEqual([])
  })

  test.each(rows)('%s: the names of its row stand in its places', (_, codes) => {
    const sources = codes.filter((code) => isPath(code) && isFile(code)).map(read)
    const stands = (name: string) => sources.some((source) => new RegExp(`\\b${name}\\b`).test(source))
    expect(codes.filter((code) => /^\w+$/.test(code) && code !== 'muster').filter((name) => !stands(name))).toEqual([])
  })
})

function codesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '')
}

const isPath = (code: string): boolean => code.includes('/') && !code.includes(' ')
const at = (path: string): string => join(REPOSITORY, path)
const isThere = (path: string): boolean => statSync(at(path), { throwIfNoEntry: false }) !== undefined
const isFile = (path: string): boolean => statSync(at(path), { throwIfNoEntry: false })?.isFile() === true
const read = (path: string): string => readFileSync(at(path), 'utf8')
