/** What of the manager's own surroundings tasks may read and reach: nothing but what whoever runs it has listed. Design page 50, Safety. */
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

/** Bytes of a file that a task reads; the peer's. */
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

export const grantAccess = ({ variables, files, httpTargets: targets = [], env }: AccessOptions): Access => {
  const environment: Record<string, string> = {}
  for (const name of variables) {
    const value = env[name]
    if (value !== undefined) environment[name] = value
  }
  const mayRead = (path: string): boolean => isAbsolute(path) && files.some((listed) => isWithin(listed, path))
  return {
    environment,
    httpAllowlist: httpAllowlist(targets),
    mayRead,
    async readFile(path) {
      if (!mayRead(path)) throw new Error('it is in no folder that tasks may read: --adapter-files lists them')
      const actual = await realpath(path)
      const folders = await Promise.all(files.map((listed) => realpath(listed).catch(() => listed)))
      if (!folders.some((folder) => isWithin(folder, actual))) throw new Error('it leads out of the folder by a link')
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
