/**
 * `npm run codegen` writes the files that follow from apis/ and cmd/; `npm run codegen -- --check` only says which ones are out of date.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { generatedFiles } from './codegen/files.ts'
import type { GeneratedFile } from './codegen/generated.ts'

const root = dirname(import.meta.dirname)

const isCurrent = async ({ path, text }: GeneratedFile): Promise<boolean> => {
  try {
    return (await readFile(join(root, path), 'utf8')) === text
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })

const outdated: GeneratedFile[] = []
for (const file of generatedFiles()) if (!(await isCurrent(file))) outdated.push(file)

if (values.check) {
  for (const { path } of outdated) console.error(`${path} is out of date: run "npm run codegen" and commit the result`)
  process.exitCode = outdated.length > 0 ? 1 : 0
} else {
  for (const { path, text } of outdated) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
    console.log(`wrote ${path}`)
  }
}
