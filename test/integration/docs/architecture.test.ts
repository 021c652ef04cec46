import { globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { lexer, type Tokens } from 'marked'
import { beforeAll, describe, expect, test } from 'vitest'
import { REPOSITORY, readPage } from './page.ts'

/** Holds docs/architecture.md to the code. */
const page = await readPage('docs/architecture.md')

/** The rows of the table of folders: what each may import. */
const layers = new Map(
  lexer(page.text)
    .filter((token): token is Tokens.Table => token.type === 'table' && token.header[0]?.text === 'folder')
    .flatMap(({ rows }) => rows.map(([folder, , may]) => [codes(folder)[0] ?? '', may?.text ?? ''] as const)),
)

describe('the table of folders', () => {
  test.each(['apis', 'cmd', 'hack', 'test'])('names %s', (folder) => expect([...layers.keys()]).toContain(folder))

  test.each(['operator', 'controllers', 'services'])('names every folder below %s, and no other', (top) => {
    const named = [...layers.keys()].filter((folder) => folder.startsWith(`${top}/`))
    expect(named.sort()).toEqual(foldersOf(top).map((folder) => `${top}/${folder}`))
  })

  test.each(['hack', 'kustomize', 'test'])('stands beside a table that names every folder below %s', (top) => {
    const missing = foldersOf(top).filter((folder) => !page.text.includes(`\`${top}/${folder}\``))
    expect(missing).toEqual([])
  })

  test('stands beside every other folder of the repository', () => {
    const named = [...layers.keys()].map((folder) => folder.split('/')[0])
    const others = foldersOf('.').filter((folder) => !named.includes(folder))
    expect(others.filter((folder) => !page.text.includes(`\`${folder}`))).toEqual([])
  })
})

describe('imports', () => {
  let edges: readonly Edge[]
  beforeAll(() => {
    edges = [...layers.keys()].flatMap(importsOf)
  })

  test.each([...layers].filter(([, may]) => may !== 'everything'))('of %s are what the page allows', (folder) => {
    const strange = edges.filter(({ from, to }) => from === folder && !allows(folder, to))
    expect(strange.map(({ file, to }) => `${file} imports ${to}`)).toEqual([])
  })

  test.each([...layers].filter(([, may]) => may !== 'everything'))(
    'that the page allows %s are there',
    (folder, may) => {
      const spare = codes({ text: may }).filter(
        (allowed) => !edges.some(({ from, to }) => from === folder && within(to, allowed)),
      )
      // Of `operator/` the page speaks once for all: "every … but".
      expect(may.startsWith('every') ? [] : spare).toEqual([])
    },
  )
})

interface Edge {
  readonly file: string
  readonly from: string
  readonly to: string
}

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

/** A folder of the table; `operator` stands for its own files. */
const layerOf = (path: string): string => {
  const [top = '', second = ''] = path.split('/')
  return layers.has(`${top}/${second}`) ? `${top}/${second}` : top
}

const allows = (folder: string, to: string): boolean => {
  const may = layers.get(folder) ?? ''
  const [those, except = []] = may.split(' but ').map((text) => codes({ text }))
  if (may.startsWith('everything')) return !except.some((other) => within(to, other))
  if (may.startsWith('every ')) return within(to, 'operator') && !except.includes(to)
  return (those ?? []).some((allowed) => (folder.startsWith('operator/') ? to === allowed : within(to, allowed)))
}

const within = (folder: string, other: string): boolean => folder === other || folder.startsWith(`${other}/`)

/** What is imported from other folders, tests apart. */
function importsOf(folder: string): readonly Edge[] {
  return globSync(`${folder}/**/*.{ts,mjs}`, { cwd: REPOSITORY })
    .filter((file) => layerOf(file) === folder && !/\.(test|world|builders|arbitrary)\.ts$/.test(file))
    .flatMap((file) =>
      [...readFileSync(join(REPOSITORY, file), 'utf8').matchAll(/(?:from|import\() ?'(#|\.)([^']+)'/g)]
        .map(([, kind, path = '']) => (kind === '#' ? path : normalize(join(dirname(file), `.${path}`))))
        .map((path) => ({ file, from: folder, to: layerOf(path) })),
    )
    .filter(({ from, to }) => from !== to)
}
