/**
 * The device says "not now": while a Deployment has the file `hold`, no other revision is taken there. Its text is the reason.
 * AGENT-10.
 */
import { constants, type FileHandle, open } from 'node:fs/promises'
import { messageOf } from '#lib/errors/message-of.ts'

/** Bytes of a reason; what is longer is cut. */
const MAX_REASON_BYTES = 4_096

/** Why changes are held back; undefined when they are not. What is there and can't be read holds as well. */
export const readHoldReason = async (files: readonly string[]): Promise<string | undefined> => {
  for (const file of files) {
    const reason = await readReason(file)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** A program may have written it, or put there what leads to a file that only the agent can read. AGENT-46. */
const readReason = async (path: string): Promise<string | undefined> => {
  let file: FileHandle | undefined
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const found = await file.stat()
    if (!found.isFile() || found.nlink !== 1) return 'its file is none of its own, so its reason is not read'
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_REASON_BYTES), 0, MAX_REASON_BYTES, 0)
    const text = buffer.toString('utf8', 0, bytesRead).trim()
    return text === '' ? 'no reason is given' : text
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : messageOf(error)
  } finally {
    await file?.close()
  }
}
