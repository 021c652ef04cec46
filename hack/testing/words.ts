/** The words of hack/words.txt, and where names and texts use them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isTest } from './spec.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')

const SOURCES = '{apis,lib,operator,controllers,services,cmd,hack,kustomize,test,examples}/**/*.ts'
const PAGES = '{README.md,docs/**/*.md}'

/** What is written by hand beside the sources; `manifests/` and the golden files are made from it. */
const CONFIGURATION = '{apis,kustomize,examples}/**/*.{yaml,lua}'

/**
 * A banned word: in names (files, folders, what is declared, parameters, properties), as a whole name in sources (a test's locals are
 * read beside their use), in comments, in messages (literals of several words), in titles of tests, in pages, as the first word of a page's sentence, or in texts (all of these, and configuration). `except` is what may be said all the same: a phrase of comments, or a name in one file.
 */
export interface BannedWord {
  readonly where: (typeof PLACES)[number]
  /** Lower case; the words of a name are parted by dashes. */
  readonly word: string
  /** Of an exception: the only file that it is for. */
  readonly file?: string
}

const PLACES = ['name', 'whole', 'comment', 'message', 'title', 'page', 'opening', 'except', 'text'] as const

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
      const known = PLACES.find((place) => place === where)
      if (known === undefined) throw new Error(`hack/words.txt: "${line}" begins with none of ${PLACES.join(', ')}`)
      const [word = '', file] = words.join(' ').split(' in ')
      return { where: known, word: word.toLowerCase(), ...(file !== undefined && { file }) }
    })

/** The words of a name: "letGo", "LET_GO" and "let-go" are the same two. */
export const wordsOf = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1-$2')
    .replaceAll(/[_.]/g, '-')
    .toLowerCase()

const DECLARATION = /\b(?:const|let|function\*?|class|interface|type|enum)\s+([A-Za-z_$][\w$]*)/g

/** A property, a method's or function's parameter with its type: only these have the colon at once behind the name. */
const MEMBER = /(?<![\w$.])([A-Za-z_$][\w$]*)\??:(?=\s)/g

/** Parameters without types, and what they take apart. */
const PARAMETERS = /\(([\w$\s,{}[\].:?|<>]*)\)\s*=>/g

/** Comments, and literals in which what looks like code or a comment is none. */
const COMMENT_OR_LITERAL =
  /(\/\/[^\n]*|\/\*[\s\S]*?\*\/)|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[=(,:[!&|?{};>]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g

/** The code, the comments and the messages of a source, each with the line breaks of the whole, so that lines keep their numbers. */
const partSource = (text: string): { readonly code: string; readonly comments: string; readonly messages: string } => {
  const breaks = (part: string) => part.replaceAll(/[^\n]/g, '')
  let comments = ''
  let messages = ''
  let end = 0
  const code = text.replaceAll(COMMENT_OR_LITERAL, (found: string, comment: string | undefined, at: number) => {
    const between = breaks(text.slice(end, at))
    comments += between + (comment ?? breaks(found))
    messages += between + (comment === undefined && SEVERAL_WORDS.test(found) ? found : breaks(found))
    end = at + found.length
    return breaks(found)
  })
  return { code, comments, messages }
}

/** A literal with fewer is a name, a key or a pattern. */
const SEVERAL_WORDS = /^['"`]\S+ \S+ \S/

/** The titles of tests and of their groups, those of tables included. */
const TITLE =
  /(?:\b(?:test|it|describe)(?:\.\w+)*|^\]?\))\(\s*('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)/gm

/** The first of a row of a table of tests, which its title shows. */
const TITLE_OF_ROW = /\[\s*('(?:[^\s'\\]+ ){2}(?:\\.|[^'\\\n])*')/g

/** First words of the sentences of a page, those in tables and lists included; a word before a question mark is none. */
const OPENING = /(?<=^ *|[.:;!|] |\*\* )(?:[-*>] |\d+\. |[*_]+)*([A-Z]\w*)(?= [^|])(?![^.:;|]*\?)/gm

/** The text of a page without code blocks and headings, with the line breaks of the whole. */
const proseOf = (page: string): string =>
  page.replaceAll(/^ *(```+)[\s\S]*?^ *\1|^#.*/gm, (found) => found.replaceAll(/[^\n]/g, ''))

/** The comments of YAML, with the line breaks of the whole. */
const commentsOf = (yaml: string): string =>
  yaml.replaceAll(/^.*?(?:(?<=^|\s)(#.*)|$)/gm, (_line, comment = '') => comment)

/** Every name that a line of code gives to something: what it declares, properties, parameters. */
const namesIn = (line: string): readonly string[] => [
  ...[...line.matchAll(DECLARATION), ...line.matchAll(MEMBER)].map(([, name = '']) => name),
  ...[...line.matchAll(PARAMETERS)].flatMap(([, list = '']) => list.match(/[A-Za-z_$][\w$]*/g) ?? []),
]

/** Where a file uses banned words in its path, in the names that it gives, in its comments and its text. */
export const usesIn = (file: string, text: string, banned: readonly BannedWord[]): readonly UseOfWord[] => {
  const exceptions = banned.filter((one) => one.where === 'except' && (one.file ?? file) === file)
  const names = banned.filter(({ where }) => where === 'name' || (where === 'whole' && !isTest(file)))
  const has = (name: string, { where, word }: BannedWord) =>
    (where === 'whole' ? wordsOf(name) === word : `-${wordsOf(name)}-`.includes(`-${word}-`)) &&
    exceptions.every((exception) => exception.word !== wordsOf(name))
  const isIn = (content: string, word: string) => new RegExp(`\\b${word}\\b`, 'i').test(content)
  const titles = banned.filter(({ where }) => where === 'title')
  const { code, comments, messages } = file.endsWith('.ts')
    ? partSource(text)
    : { code: '', comments: file.endsWith('.yaml') ? commentsOf(text) : '', messages: '' }
  const lines = {
    text: text.split('\n'),
    code: code.split('\n'),
    comments: comments.split('\n'),
    messages: file.startsWith('test/') || isTest(file) ? [] : messages.split('\n'),
  }

  const uses: UseOfWord[] = []
  for (const part of file.split('/'))
    for (const one of names)
      if (has(part.replace(/(\.test)?\.ts$/, ''), one)) uses.push({ file, found: part, word: one.word })
  for (const { 0: before, 1: title = '', index } of isTest(file)
    ? [...text.matchAll(TITLE), ...text.matchAll(TITLE_OF_ROW)]
    : [])
    for (const { word } of titles)
      if (isIn(title, word))
        uses.push({ file, line: text.slice(0, index + before.length).split('\n').length, found: title, word })
  const openings = banned.filter(
    ({ where, word }) => where === 'opening' && !exceptions.some((one) => one.word === word),
  )
  const prose = file.endsWith('.md') && openings.length > 0 ? proseOf(text) : ''
  for (const { 0: before, 1: found = '', index } of prose.matchAll(OPENING))
    for (const { word } of openings)
      if (found.toLowerCase() === word)
        uses.push({ file, line: prose.slice(0, index + before.length).split('\n').length, found, word })
  for (const [index, content] of lines.text.entries()) {
    const line = index + 1
    for (const name of new Set(namesIn(lines.code[index] ?? '')))
      for (const one of names) if (has(name, one)) uses.push({ file, line, found: name, word: one.word })
    const comment = exceptions.reduce((rest, { word }) => rest.replaceAll(word, ''), lines.comments[index] ?? '')
    for (const { where, word } of banned)
      if (
        ((where === 'text' || (where === 'page' && file.endsWith('.md'))) && isIn(content, word)) ||
        (where === 'comment' && isIn(comment, word)) ||
        (where === 'message' && isIn(lines.messages[index] ?? '', word))
      )
        uses.push({ file, line, found: word, word })
  }
  return uses
}

/** All uses in the repository, as lines for people. */
export const findBannedWords = (): readonly string[] => {
  const banned = parseWords(read('hack/words.txt'))
  return globSync([SOURCES, PAGES, CONFIGURATION], {
    cwd: REPOSITORY,
    exclude: ['**/node_modules/**', 'hack/testing/words*'],
  })
    .sort()
    .flatMap((file) => usesIn(file, read(file), banned))
    .map(({ file, line, found, word }) => `${file}${line === undefined ? '' : `:${line}`} ${found} (${word})`)
}

const read = (file: string): string => readFileSync(join(REPOSITORY, file), 'utf8')
