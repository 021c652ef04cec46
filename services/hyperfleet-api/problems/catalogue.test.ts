import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { PROBLEMS } from './catalogue.ts'

test('docs/reference/api-errors.md has every problem of the catalogue, and no other', async () => {
  const page = await readFile(new URL('../../../docs/reference/api-errors.md', import.meta.url), 'utf8')
  const documented = [...page.matchAll(/^\| (HYPERFLEET-[A-Z]+-\d+) \| (\d+) \| ([a-z-]+) \|/gm)].map((row) =>
    row.slice(1).join(' '),
  )
  expect(documented.toSorted()).toEqual(
    Object.values(PROBLEMS)
      .map(({ code, status, slug }) => `${code} ${status} ${slug}`)
      .toSorted(),
  )
})
