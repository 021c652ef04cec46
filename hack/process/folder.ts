import { randomBytes } from 'node:crypto'
import { mkdir, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordFolder } from './owners.ts'
import { guardFolder } from './reaper.ts'

/** A new private folder (mode 0700) that is removed when we end, however we end. */
export const temporaryFolder = async (prefix: string): Promise<string> => {
  // It is recorded for its removal before it is there. The same place may have another name: /tmp on macOS.
  const folder = join(await realpath(tmpdir()), `muster-${prefix}-${randomBytes(4).toString('hex')}`)
  await recordFolder(folder)
  guardFolder(folder)
  await mkdir(folder, { mode: 0o700 })
  return folder
}
