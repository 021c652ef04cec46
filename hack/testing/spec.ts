/** The numbered rules of docs/spec, and where the repository cites them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const REPOSITORY = join(import.meta.dirname, '..', '..')

/** A rule, as its page defines it. */
export interface Rule {
  /** "POOL-12" */
  readonly id: string
  /** From the root of the repository. */
  readonly page: string
}

/** A place that names a rule. */
export interface Citation {
  readonly id: string
  /** From the root of the repository. */
  readonly file: string
}

/** What begins the list item that defines a rule. */
const DEFINITION = /^- \*\*([A-Z]+-\d+)\*\*/gm

/** The rules that the pages of docs/spec define, in their order; an id that is defined twice is there twice. */
export const definedRules = (): readonly Rule[] =>
  globSync('docs/spec/*.md', { cwd: REPOSITORY })
    .sort()
    .flatMap((page) => [...read(page).matchAll(DEFINITION)].map(([, id = '']) => ({ id, page })))

/**
 * Where sources, tests and pages name a rule.
 * @param prefixes what ids begin with, such as "POOL": other words of that shape ("UTF-8") are not ids
 */
export const citations = (prefixes: readonly string[]): readonly Citation[] => {
  if (prefixes.length === 0) return []
  const id = new RegExp(`\\b(?:${prefixes.join('|')})-\\d+\\b`, 'g')
  return globSync(['{apis,lib,operator,controllers,services,cmd,hack,kustomize,test}/**/*.ts', 'docs/**/*.md'], {
    cwd: REPOSITORY,
    exclude: ['**/node_modules/**', 'docs/spec/README.md'],
  }).flatMap((file) => {
    const text = file.startsWith('docs/spec/') ? read(file).replaceAll(DEFINITION, '') : read(file)
    return [...new Set(text.match(id))].map((one) => ({ id: one, file }))
  })
}

/** The word before the number: "POOL". */
export const prefixOf = (id: string): string => id.slice(0, id.lastIndexOf('-'))

/** Whether a file holds tests, or what only tests use. */
export const isTest = (file: string): boolean => file.startsWith('test/') || file.endsWith('.test.ts')

const read = (file: string): string => readFileSync(join(REPOSITORY, file), 'utf8')
