import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { UsageError } from './failure.ts'

/**
 * The text of a file that a flag names; `-` is standard input.
 * @throws UsageError naming the flag, the file and why it can't be read
 */
export const readInput = async (flag: string, file: string): Promise<string> => {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8')
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new UsageError(`${flag}: ${file} can’t be read (${why})`, { cause: error })
  }
}
