import { readFile } from 'node:fs'
import { promisify } from 'node:util'

const read = promisify(readFile)

/**
 * A file's text. For what every process loads: `node:fs/promises` brings readline and watchers of files along, 0.7 MB of a process that waits.
 * @throws as `readFile` does
 */
export const readTextFile = (path: string): Promise<string> => read(path, 'utf8')
