import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PAGES } from './commands.ts'
import { REPOSITORY } from './page.ts'

/** Commands in the middle of a sentence are not run; what they name must be there all the same. */
const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8')

const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> }).scripts)

/** The flags of each command, by the reference that is generated from them. */
const flags = new Map(
  read('docs/reference/flags.md')
    .split(/^## /m)
    .slice(1)
    .map(
      (section) => [section.split('\n')[0] ?? '', new Set(section.match(/(?<=^\| `(?:-\w`, `)?)--[\w-]+/gm))] as const,
    ),
)

describe.each(PAGES.map((page) => [page.path, page.text] as const))('%s', (_, text) => {
  test('names scripts of npm that there are', () => {
    const named = [...text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)].map(([, name]) => name ?? '')
    expect(named.filter((name) => !scripts.includes(name))).toEqual([])
  })

  test('names commands of muster with flags that they have', () => {
    const named = [...text.matchAll(/\bmuster ((?:[a-z][a-z-]* ?)+)((?:[^`|\n]|\\\n)*?--[^`|\n]*)/g)].flatMap(
      ([, words = '', rest = '']) => {
        const command = [...flags.keys()]
          .filter((name) => `muster ${words} `.startsWith(`${name} `))
          .sort(byLength)
          .at(-1)
        if (command === undefined) return []
        const asked = rest.match(/(?<= |^)--[a-z][\w-]*/g) ?? []
        return asked
          .filter((flag) => !flags.get(command)?.has(flag) && !ALWAYS.includes(flag))
          .map((flag) => `${command} ${flag}`)
      },
    )
    expect(named).toEqual([])
  })
})

const byLength = (one: string, other: string): number => one.length - other.length

/** Of every command. */
const ALWAYS: readonly string[] = ['--help']
