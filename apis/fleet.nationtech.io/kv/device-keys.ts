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

export class DeviceKeyFolder {
  readonly #path: string
  #version: string
  #keys: ReadonlyMap<string, string>
  #lastProblem: string | undefined

  private constructor(path: string, version: string, keys: ReadonlyMap<string, string>) {
    this.#path = path
    this.#version = version
    this.#keys = keys
  }

  /** @throws FleetKeyError that names the folder */
  static async open(path: string): Promise<DeviceKeyFolder> {
    try {
      const version = await versionOf(path)
      return new DeviceKeyFolder(path, version, await readKeys(path))
    } catch (error) {
      throw namedError(path, error)
    }
  }

  /** Made anew by each call: those of all devices would take more room than all else that is known of them. Undefined for a device without one. */
  keyOf(device: string): KeyObject | undefined {
    return readDeviceKey(this.#keys.get(device) ?? '')
  }

  /**
   * Reads it again when it has changed. While it can't be read the keys stay those that it held.
   * @param onProblem told why it can't, once for each reason in a row @returns whether it was read
   */
  async reread(onProblem: (problem: string) => void): Promise<boolean> {
    try {
      const version = await versionOf(this.#path)
      if (version === this.#version) return false
      this.#keys = await readKeys(this.#path)
      this.#version = version
      this.#lastProblem = undefined
      return true
    } catch (error) {
      const { message } = namedError(this.#path, error)
      if (message !== this.#lastProblem) onProblem(message)
      this.#lastProblem = message
      return false
    }
  }
}

/** A volume of Kubernetes is exchanged as a whole, by the link `..data`; in another folder each file has a time. */
const versionOf = async (path: string): Promise<string> => {
  const link = await readlink(join(path, '..data')).catch(() => undefined)
  if (link !== undefined) return link
  const times = await inTurns(await namesIn(path), async (name) => {
    const { mtimeNs } = await stat(join(path, name), { bigint: true })
    return `${name}=${mtimeNs}`
  })
  return times.toSorted().join(' ')
}

const deviceOf = (file: string): string => file.replace(/\.pub$/, '')

const namesIn = async (path: string): Promise<readonly string[]> =>
  (await readdir(path)).filter((file) => isDeviceName(deviceOf(file)))

const readKeys = async (path: string): Promise<ReadonlyMap<string, string>> =>
  new Map(
    await inTurns(
      await namesIn(path),
      async (name) => [deviceOf(name), (await readFile(join(path, name), 'utf8')).trim()] as const,
    ),
  )

const inTurns = async <T>(names: readonly string[], read: (name: string) => Promise<T>): Promise<readonly T[]> => {
  const found: T[] = []
  for (let from = 0; from < names.length; from += READ_AT_ONCE)
    found.push(...(await Promise.all(names.slice(from, from + READ_AT_ONCE).map(read))))
  return found
}

const namedError = (path: string, error: unknown): FleetKeyError => {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  return new FleetKeyError(isMissing ? `the folder ${path} does not exist` : `${path}: ${messageOf(error)}`, {
    cause: error,
  })
}
