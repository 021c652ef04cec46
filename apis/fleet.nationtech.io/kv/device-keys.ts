/**
 * The public keys of devices, a file for each: `<device>`, as a pod sees the ConfigMap nats-devices, or `<device>.pub`, as
 * `muster fleet credentials` writes them. FLEET-125.
 */
import type { KeyObject } from 'node:crypto'
import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '#lib/errors/message-of.ts'
import { readDeviceKey } from './info-signature.ts'
import { isDeviceName } from './keys.ts'
import { FleetKeyError } from './signing-keys.ts'

/** Files that are read at once. */
const READ_AT_ONCE = 64

export interface DeviceKey {
  readonly key: KeyObject
  /** `U…` */
  readonly nkey: string
}

/** What is read of it. */
interface Content {
  readonly version: string
  /** By device. */
  readonly nkeys: ReadonlyMap<string, string>
}

export class DeviceKeyFolder {
  readonly #path: string
  #content: Content
  #lastProblem: string | undefined

  private constructor(path: string, content: Content) {
    this.#path = path
    this.#content = content
  }

  /** @throws FleetKeyError that names the folder */
  static async open(path: string): Promise<DeviceKeyFolder> {
    try {
      return new DeviceKeyFolder(path, await readContent(path, undefined))
    } catch (error) {
      throw namedError(path, error)
    }
  }

  /** Made anew by each call: those of all devices would take more room than all else that is known of them. Undefined for a device without one. */
  keyOf(device: string): DeviceKey | undefined {
    const nkey = this.#content.nkeys.get(device) ?? ''
    const key = readDeviceKey(nkey)
    return key && { key, nkey }
  }

  /**
   * Reads it again when it has changed. While it can't be read the keys stay those that it held.
   * @param onProblem told why it can't, once for each reason in a row @returns the devices that have another key, or none any more
   */
  async reread(onProblem: (problem: string) => void): Promise<readonly string[]> {
    try {
      const { nkeys: before } = this.#content
      this.#content = await readContent(this.#path, this.#content)
      this.#lastProblem = undefined
      const { nkeys: now } = this.#content
      if (now === before) return []
      return [...new Set([...before.keys(), ...now.keys()])].filter((device) => before.get(device) !== now.get(device))
    } catch (error) {
      const { message } = namedError(this.#path, error)
      if (message !== this.#lastProblem) onProblem(message)
      this.#lastProblem = message
      return []
    }
  }
}

/**
 * A volume of Kubernetes is exchanged as a whole, by the link `..data`, and read where that leads: the links of new files come later. In
 * another folder each file has a time.
 */
const readContent = async (path: string, before: Content | undefined): Promise<Content> => {
  const link = await readlink(join(path, '..data')).catch(() => undefined)
  const folder = link === undefined ? path : join(path, link)
  const files = (await readdir(folder)).filter((file) => isDeviceName(deviceOf(file)))
  const version = link ?? (await timesOf(folder, files))
  if (version === before?.version) return before
  const read = async (file: string) => [deviceOf(file), (await readFile(join(folder, file), 'utf8')).trim()] as const
  return { version, nkeys: new Map(await inTurns(files, read)) }
}

const deviceOf = (file: string): string => file.replace(/\.pub$/, '')

const timesOf = async (folder: string, files: readonly string[]): Promise<string> => {
  const times = await inTurns(files, async (file) => {
    const { ino, mtimeNs, ctimeNs } = await stat(join(folder, file), { bigint: true })
    return `${file}=${ino},${mtimeNs},${ctimeNs}`
  })
  return times.toSorted().join(' ')
}

const inTurns = async <T>(files: readonly string[], read: (file: string) => Promise<T>): Promise<readonly T[]> => {
  const found: T[] = []
  for (let from = 0; from < files.length; from += READ_AT_ONCE)
    found.push(...(await Promise.all(files.slice(from, from + READ_AT_ONCE).map(read))))
  return found
}

const namedError = (path: string, error: unknown): FleetKeyError => {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  return new FleetKeyError(isMissing ? `the folder ${path} does not exist` : `${path}: ${messageOf(error)}`, {
    cause: error,
  })
}
