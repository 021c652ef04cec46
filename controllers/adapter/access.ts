/** What tasks may read of the manager's environment and files, and which HTTP services they may reach: only what is listed. ADAPTER-52. */
import { readFile, realpath } from 'node:fs/promises'
import { isAbsolute, normalize, sep } from 'node:path'
import { type HttpAllowlist, httpAllowlist } from './transports/http-allowlist.ts'

export interface Access {
  /** The listed variables that are set. */
  readonly environment: Readonly<Record<string, string>>
  /** Whether a file is in one of the listed folders. */
  mayRead(path: string): boolean
  /** @throws Error when it may not be read, or can't */
  readFile(path: string): Promise<string>
  readonly httpAllowlist: HttpAllowlist
}

/** Bytes of a file that a task reads, as in the Go adapter. */
const MAX_FILE_BYTES = 1024 * 1024

export interface AccessOptions {
  /** Names of environment variables. */
  readonly variables: readonly string[]
  /** Folders, or single files. */
  readonly files: readonly string[]
  /** Prefixes of the URLs that resources of HTTP services may lead to. */
  readonly httpTargets?: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export const grantAccess = ({ variables, files, httpTargets = [], env }: AccessOptions): Access => {
  const environment: Record<string, string> = {}
  for (const name of variables) {
    const value = env[name]
    if (value !== undefined) environment[name] = value
  }
  const mayRead = (path: string): boolean => isAbsolute(path) && files.some((listed) => isWithin(listed, path))
  return {
    environment,
    httpAllowlist: httpAllowlist(httpTargets),
    mayRead,
    async readFile(path) {
      if (!mayRead(path))
        throw new Error('it is not among the files that tasks may read: list its folder in --adapter-files')
      const actual = await realpath(path)
      const folders = await Promise.all(files.map((listed) => realpath(listed).catch(() => listed)))
      if (!folders.some((folder) => isWithin(folder, actual))) throw new Error('a link leads out of the listed folder')
      const text = await readFile(actual, 'utf8')
      if (text.length > MAX_FILE_BYTES) throw new Error(`it is larger than ${MAX_FILE_BYTES} bytes`)
      return text
    },
  }
}

const isWithin = (listed: string, path: string): boolean => {
  const [folder, file] = [normalize(listed).replace(/\/+$/, ''), normalize(path)]
  return file === folder || file.startsWith(folder + sep)
}
