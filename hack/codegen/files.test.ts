import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generatedFiles } from './files.ts'

const root = join(import.meta.dirname, '../..')

test.each(generatedFiles())('$path is what apis/ says (else run "npm run codegen")', ({ path, text }) => {
  expect(readFileSync(join(root, path), 'utf8')).toBe(text)
})
