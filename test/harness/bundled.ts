import { join } from 'node:path'
import { bundle } from '#hack/build/bundle.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { BUNDLED_PROGRAM } from './muster.ts'

/** Bundles the program for a run that starts it hundreds of times, and has tests start that. Bundling costs as much as twenty starts save: each part of the run has the same. */
export const useBundle = async (): Promise<void> => {
  if (process.env[BUNDLED_PROGRAM] !== undefined) return
  const folder = join(await temporaryFolder('bundle'), 'dist')
  await bundle(folder)
  process.env[BUNDLED_PROGRAM] = join(folder, 'muster.mjs')
}
