/** The words of hack/words.txt, and where names and texts use them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isTest } from './spec.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')

const SOURCES = '{apis,lib,operator,controllers,services,cmd,hack,kustomize,test,examples}/**/*.ts'
const PAGES = '{README.md,docs/**/*.md}'

/** A banned word: in names (files, folders, what is declared), as a whole name in sources (a test's locals are read beside their use), or in texts (comments, messages, pages). */
export interface BannedWord {
  readonly where: 'name' | 'whole' | 'text'
  /** Lower case; the words of a name are parted by dashes. */
  readonly word: string
}

/** A place that uses a banned word. */
export interface UseOfWord {
  /** From the root of the repository. */
  readonly file: string
  /** From 1; undefined when the file's own path has the word. */
  readonly line?: number
  /** The name or word as it stands there. */
  readonly found: string
  readonly word: string
}

/** @throws Error for a line that is neither a comment nor an entry */
export const parseWords = (text: string): readonly BannedWord[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [where, ...words] = line.split(' ')
      if (where !== 'name' && where !== 'whole' && where !== 'text')
        throw new Error(`hack/words.txt: "${line}" begins with none of name, whole, text`)
      return { where, word: words.join(' ').toLowerCase() }
    })

/** The words of a name: "letGo", "LET_GO" and "let-go" are the same two. */
export const wordsOf = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1-$2')
    .replaceAll(/[_.]/g, '-')
    .toLowerCase()

const DECLARATION = /\b(?:const|let|function\*?|class|interface|type|enum)\s+([A-Za-z_$][\w$]*)/g

/** Where a file uses banned words in its path, its declared names and its text. */
export const usesIn = (file: string, text: string, banned: readonly BannedWord[]): readonly UseOfWord[] => {
  const names = banned.filter(({ where }) => where === 'name' || (where === 'whole' && !isTest(file)))
  const has = (name: string, { where, word }: BannedWord) =>
    where === 'whole' ? wordsOf(name) === word : `-${wordsOf(name)}-`.includes(`-${word}-`)
  const uses: UseOfWord[] = []
  for (const part of file.split('/'))
    for (const one of names)
      if (has(part.replace(/(\.test)?\.ts$/, ''), one)) uses.push({ file, found: part, word: one.word })
  for (const [index, content] of text.split('\n').entries()) {
    const line = index + 1
    for (const [, name = ''] of file.endsWith('.ts') ? content.matchAll(DECLARATION) : [])
      for (const one of names) if (has(name, one)) uses.push({ file, line, found: name, word: one.word })
    for (const { where, word } of banned)
      if (where === 'text' && new RegExp(`\\b${word}\\b`, 'i').test(content))
        uses.push({ file, line, found: word, word })
  }
  return uses
}

/** All uses in the repository, as lines for people. */
export const findBannedWords = (): readonly string[] => {
  const banned = parseWords(read('hack/words.txt'))
  return globSync([SOURCES, PAGES], { cwd: REPOSITORY, exclude: ['**/node_modules/**', 'hack/testing/words*'] })
    .sort()
    .flatMap((file) => usesIn(file, read(file), banned))
    .map(({ file, line, found, word }) => `${file}${line === undefined ? '' : `:${line}`} ${found} (${word})`)
}

const read = (file: string): string => readFileSync(join(REPOSITORY, file), 'utf8')
