import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guardFolder } from './reaper.ts'

/** A new private folder (mode 0700) that is removed when we end, however we end. */
export const temporaryFolder = async (prefix: string): Promise<string> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), `muster-${prefix}-`)))
  guardFolder(folder)
  return folder
}
