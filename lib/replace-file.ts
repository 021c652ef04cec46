import { open, rename } from 'node:fs/promises'

/** A reader of the file finds the old content or the new one, also after a power cut. @param mode of the new file; its owner alone reads it by default */
export const replaceFile = async (path: string, content: Uint8Array | string, mode = 0o600): Promise<void> => {
  const next = `${path}.next`
  const file = await open(next, 'w', mode)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(next, path)
}
