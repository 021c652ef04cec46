/**
 * The device says "not now": while the folder of a Deployment has the file `hold`, no other revision is taken there. Its text
 * is the reason. AGENT-10.
 */
import { join } from 'node:path'
import { messageOf } from '#lib/errors/message-of.ts'
import { readIfThere } from './placement-store.ts'

/** Why changes are held back; undefined when they are not. What is there and can't be read holds as well. */
export const readHoldReason = async (folder: string): Promise<string | undefined> => {
  try {
    const text = (await readIfThere(join(folder, 'hold')))?.toString().trim()
    return text === '' ? 'no reason is given' : text
  } catch (error) {
    return messageOf(error)
  }
}
