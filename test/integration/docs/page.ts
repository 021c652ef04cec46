/**
 * What a page of the docs holds, as its tests need it. HTML comments, which no reader sees, say how its commands are run:
 *
 *   <!-- world: up -->                 on top of a page: where its commands run (worlds.ts)
 *   <!-- beside: COMMAND -->           before a block: it goes on running; the page goes on when COMMAND succeeds
 *   <!-- refused: 401 403 -->          before a block: the answers of 400 and above that its curls get; none without it
 *   <!-- exits: 1 -->                  before a block: the exit code that it ends with
 *   <!-- not run: REASON -->           before a block: why no test can run it
 *   <!-- run by: PATH -->              before a block: the test that takes it from the page and runs it instead (run-by.ts)
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import GithubSlugger from 'github-slugger'
import { lexer, type Token, type Tokens, walkTokens } from 'marked'

export const REPOSITORY = join(import.meta.dirname, '..', '..', '..')

/** How a block of commands is run. */
export type Way =
  | { readonly how: 'here'; readonly refused: readonly number[]; readonly exitCode: number }
  | { readonly how: 'beside'; readonly until: string }
  | { readonly how: 'never'; readonly reason: string }
  | { readonly how: 'elsewhere'; readonly test: string }

/** A fenced block with the language `sh`. */
export interface Block {
  readonly commands: string
  readonly way: Way
  /** The block of `text` that follows: what the commands print. */
  readonly output: string | undefined
}

export interface Page {
  /** From the repository's root, such as docs/sentinel.md. */
  readonly path: string
  readonly text: string
  readonly world: string | undefined
  readonly blocks: readonly Block[]
  /** Fenced blocks that say no language. */
  readonly plainFences: readonly string[]
  /** Of its headings, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>
  /** Targets of its links, as they are written. */
  readonly links: readonly string[]
}

/** A comment, or a block, of a page is not as page.ts describes it. */
export class PageError extends Error {
  override readonly name = 'PageError'
}

const DIRECTIVES = ['beside', 'refused', 'exits', 'not run', 'run by'] as const
type Directives = Partial<Record<(typeof DIRECTIVES)[number], string>>

export const readPage = async (path: string): Promise<Page> =>
  parsePage(path, await readFile(join(REPOSITORY, path), 'utf8'))

/** @throws PageError */
export const parsePage = (path: string, text: string): Page => {
  const tokens = lexer(text)
  const slugger = new GithubSlugger()
  const anchors = new Set<string>()
  const links: string[] = []
  void walkTokens(tokens, (token) => {
    if (token.type === 'heading') anchors.add(slugger.slug(words((token as Tokens.Heading).tokens)))
    if (token.type === 'link') links.push((token as Tokens.Link).href)
  })
  const fences = fencesOf(path, tokens)
  return {
    path,
    text,
    world: /^<!-- world: (\w+) -->$/m.exec(tokens[0]?.raw ?? '')?.[1],
    blocks: fences.filter(({ language }) => language === 'sh').map(({ block }) => block),
    plainFences: fences.filter(({ language }) => PLAIN.includes(language)).map(({ block }) => block.commands),
    anchors,
    links,
  }
}

/** The commands of one section, block by block. @param heading as it stands there @throws PageError when there is none */
export const commandsBelow = ({ path, text }: Page, heading: string): readonly string[] => {
  const lines = text.split('\n')
  const begin = lines.findIndex((line) => /^##+ /.test(line) && line.replace(/^#+ /, '') === heading)
  if (begin === -1) throw new PageError(`${path} has no heading "${heading}"`)
  const [marks = ''] = (lines[begin] ?? '').split(' ')
  // A line with one mark alone is a comment among commands.
  const isNext = new RegExp(`^#{2,${marks.length}} `)
  const section = lines.slice(begin + 1)
  const end = section.findIndex((line) => isNext.test(line))
  return parsePage(path, section.slice(0, end === -1 ? undefined : end).join('\n')).blocks.map(
    ({ commands }) => commands,
  )
}

/** The commands of the one block that has this piece of them. @throws PageError when there is none, or more than one */
export const commandsWith = ({ path, blocks }: Page, piece: string): string => {
  const found = blocks.filter(({ commands }) => commands.includes(piece))
  if (found.length !== 1 || found[0] === undefined)
    throw new PageError(`${path} has ${found.length} blocks with "${piece}", and a test runs one`)
  return found[0].commands
}

interface Fence {
  readonly language: string
  readonly block: Block
}

/** Those of a list of tokens, and of lists and quotations in it, in the order in which they are read. */
const fencesOf = (path: string, list: readonly Token[]): readonly Fence[] => {
  const visible = list.filter(({ type }) => type !== 'space')
  return visible.flatMap((token, at) => {
    if (token.type === 'list') return (token as Tokens.List).items.flatMap((item) => fencesOf(path, item.tokens))
    if (token.type === 'blockquote') return fencesOf(path, (token as Tokens.Blockquote).tokens)
    if (token.type !== 'code') return []
    const { text, lang } = token as Tokens.Code
    const next = visible[at + 1]
    const output = next?.type === 'code' && isOutput(next as Tokens.Code) ? (next as Tokens.Code).text : undefined
    const said = lang === 'sh' ? directives(path, visible[at - 1]) : {}
    return [{ language: lang ?? '', block: { commands: text, way: wayOf(path, said), output } }]
  })
}

/** Languages of a fence that is text, commands among it or not. */
const PLAIN: readonly string[] = ['', 'text']

const isOutput = ({ lang }: Tokens.Code): boolean => lang === 'text'

const wayOf = (path: string, said: Directives): Way => {
  if (said['not run'] !== undefined) return { how: 'never', reason: said['not run'] }
  if (said['run by'] !== undefined) return { how: 'elsewhere', test: said['run by'] }
  if (said.beside !== undefined) return { how: 'beside', until: said.beside }
  const refused = said.refused?.split(' ').map((status) => wholeNumber(path, status)) ?? []
  return { how: 'here', refused, exitCode: said.exits === undefined ? 0 : wholeNumber(path, said.exits) }
}

const wholeNumber = (path: string, text: string): number => {
  if (/^\d+$/.test(text)) return Number(text)
  throw new PageError(`${path}: "${text}" is not a number: write <!-- refused: 401 403 --> or <!-- exits: 1 -->.`)
}

const directives = (path: string, token: Token | undefined): Directives => {
  const comment = token?.type === 'html' ? /^<!--(.*)-->\s*$/s.exec(token.raw)?.[1] : undefined
  const said: Directives = {}
  for (const line of comment?.split('\n') ?? []) {
    if (line.trim() === '') continue
    const [, key, value] = /^\s*([a-z ]+): (.+?)\s*$/.exec(line) ?? []
    const known = DIRECTIVES.find((name) => name === key)
    if (known === undefined || value === undefined)
      throw new PageError(
        `${path}: the comment "${line.trim()}" says nothing: write one of ${DIRECTIVES.join(', ')}, a colon and more.`,
      )
    said[known] = value
  }
  return said
}

/** A heading as GitHub reads it for its anchor: without marks. */
const words = (tokens: readonly Token[]): string =>
  tokens
    .map((token) => ('tokens' in token && token.tokens ? words(token.tokens) : 'text' in token ? token.text : ''))
    .join('')
