import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guardFolder } from '#hack/process/reaper.ts'

/**
 * A folder for what a bench starts, removed when we end. Paths in it are as long as in the image, /opt/muster/muster.mjs: Node.js resolves
 * paths letter by letter, and of longer ones V8 compiles that as hot code, by a compiler that is 2 MiB of Node.js's program, before a line
 * of the program's own runs.
 */
export const shortFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'm-'))
  guardFolder(folder)
  return folder
}
