/** What a program prints: a file that it writes to itself, so that it goes on printing while the agent is away. */
import { copyFile, stat, truncate } from 'node:fs/promises'
import type { Clock } from '#operator/model/clock.ts'

/** Bytes after which the file begins anew. The one before is kept, so a program takes about twice as much of the disk. */
export const MAX_OUTPUT_BYTES = 1_048_576

const SIZE_CHECK_INTERVAL = '5s'

/** `output.log` → `output.1.log` */
const earlierOutput = (file: string): string => file.replace(/\.log$/, '.1.log')

/**
 * Keeps the file short until the signal aborts. The program has it open for appending, so it goes on at the new end;
 * what it prints between the copy and the cut is lost.
 */
export const rotateOutput = async (file: string, clock: Clock, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    await rotateIfLarge(file).catch(() => undefined) // a full disk, or no file yet: it is looked at again
    await clock.sleep(SIZE_CHECK_INTERVAL, signal)
  }
}

const rotateIfLarge = async (file: string): Promise<void> => {
  if ((await stat(file)).size <= MAX_OUTPUT_BYTES) return
  await copyFile(file, earlierOutput(file))
  await truncate(file)
}
