/** The parts of the task that docs/providers.md shows are the whole of it, in its order. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lexer, type Tokens } from 'marked'
import { expect, test } from 'vitest'
import { REPOSITORY, readPage } from './page.ts'

test('docs/providers.md shows all of the task that it has people copy', async () => {
  const { text } = await readPage('docs/providers.md')
  const parts = lexer(text).filter((token): token is Tokens.Code => token.type === 'code' && token.lang === 'yaml')
  const task = await readFile(join(REPOSITORY, 'examples/provider/task.yaml'), 'utf8')
  expect(parts.map((part) => `${part.text}\n`).join('')).toBe(task)
})
