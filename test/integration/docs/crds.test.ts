import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { REPOSITORY } from './page.ts'

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8')

/** Last parts of the paths of fields, such as `manageDNS`, with what the reference says of each. */
const fields = [...read('docs/reference/crds.md').matchAll(/^\| `([\w.[\]*]+)` \|.*\| (.*) \|$/gm)].map(
  ([, path = '', description = '']) => ({ name: path.split('.').at(-1) ?? '', description }),
)

const isUnused = ({ description }: { readonly description: string }) => /nothing acts on it here/.test(description)

test('a field of which the reference says that nothing acts on it is named by no source but its definition', () => {
  const acted = new Set(fields.filter((field) => !isUnused(field)).map(({ name }) => name))
  const unused = [...new Set(fields.filter(isUnused).map(({ name }) => name))].filter((name) => !acted.has(name))
  expect(unused.length).toBeGreaterThan(20)

  const sources = globSync('{controllers,services}/**/*.ts', { cwd: REPOSITORY }).filter(
    (path) => !path.endsWith('.test.ts'),
  )
  const uses = sources.flatMap((path) => {
    const text = read(path)
    return unused.filter((name) => new RegExp(`\\b${name}\\b`).test(text)).map((name) => `${path}: ${name}`)
  })
  expect(uses).toEqual([])
})
