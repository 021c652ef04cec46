import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { loadAll } from 'js-yaml'
import { messageOf } from '#lib/errors/message-of.ts'
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

/**
 * The YAML documents of such a file.
 * @throws UsageError naming the flag and the file, and where in it something is no YAML
 */
export const readDocuments = async (flag: string, file: string): Promise<readonly unknown[]> => {
  const written = await readInput(flag, file)
  try {
    return loadAll(written)
  } catch (error) {
    // Below its first line the message draws the place, which one line can't.
    throw new UsageError(`${flag}: ${file} is no YAML: ${messageOf(error).split('\n', 1)[0]}`, { cause: error })
  }
}
