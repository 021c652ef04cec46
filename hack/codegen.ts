/**
 * `npm run codegen` writes the files that follow from apis/, cmd/ and kustomize/; `npm run codegen -- --check` only says which ones are
 * out of date. What kubectl writes is checked only where kubectl has been built: test/integration/delivery always does.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { generatedFiles } from './codegen/files.ts'
import type { GeneratedFile } from './codegen/generated.ts'
import { INSTALL, installFile } from './codegen/install.ts'
import { CONTROL_PLANE } from './controlplane/binaries.ts'
import { ensureBinaries, isBuilt } from './gobuild/build.ts'

const root = dirname(import.meta.dirname)

const isCurrent = async ({ path, text }: GeneratedFile): Promise<boolean> => {
  try {
    return (await readFile(join(root, path), 'utf8')) === text
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

const values = new Command('npm run codegen --')
  .description('Writes the files that follow from apis/, cmd/ and kustomize/.')
  .option('--check', 'write nothing, and say which ones are out of date')
  .allowExcessArguments(false)
  .parse()
  .opts<{ readonly check?: true }>()

const install = async (): Promise<GeneratedFile> =>
  installFile(join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl'))

const outdatedOf = async (files: readonly GeneratedFile[]): Promise<readonly GeneratedFile[]> => {
  const current = await Promise.all(files.map(isCurrent))
  return files.filter((_, index) => !current[index])
}

const write = async ({ path, text }: GeneratedFile): Promise<void> => {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
  console.log(`wrote ${path}`)
}

if (values.check) {
  const isThere = isBuilt(CONTROL_PLANE)
  if (!isThere) console.error(`${INSTALL} is not looked at: kubectl has not been built yet`)
  const outdated = await outdatedOf([...generatedFiles(), ...(isThere ? [await install()] : [])])
  for (const { path } of outdated) console.error(`${path} is out of date: run "npm run codegen" and commit the result`)
  process.exitCode = outdated.length > 0 ? 1 : 0
} else {
  for (const file of await outdatedOf(generatedFiles())) await write(file)
  // Built from what has just been written.
  for (const file of await outdatedOf([await install()])) await write(file)
}
