import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ship } from '#hack/build/ship.ts'
import { SHIPPED_PROGRAM } from '#hack/build/shipped.ts'
import { guardFolder } from '#hack/process/reaper.ts'

/**
 * Bundles the program for a run that starts it hundreds of times, puts it into images and measures it: each of these has the same bundle,
 * which costs a core seven seconds. Its path is short, as test/bench/short-folder.ts has it.
 */
export const useBundle = async (): Promise<void> => {
  if (process.env[SHIPPED_PROGRAM] !== undefined) return
  const folder = await mkdtemp(join(tmpdir(), 'm-'))
  guardFolder(folder)
  await ship(folder)
  process.env[SHIPPED_PROGRAM] = join(folder, 'muster.mjs')
}
