/** A file with keys of the fleet, which may be exchanged while a program runs. FLEET-104, AGENT-48. */
import { readFile } from 'node:fs/promises'
import { messageOf } from '#lib/errors/message-of.ts'
import { type FleetKey, FleetKeyError } from './signing-keys.ts'

export class FleetKeyFile {
  readonly #path: string
  readonly #parse: (pem: string) => readonly FleetKey[]
  #text: string
  #keys: readonly FleetKey[]

  private constructor(path: string, parse: (pem: string) => readonly FleetKey[], text: string) {
    this.#path = path
    this.#parse = parse
    this.#text = text
    this.#keys = parse(text)
  }

  /** @param parse `readSigningKeys` or `readPublicKeys` @throws FleetKeyError that names the file */
  static async open(path: string, parse: (pem: string) => readonly FleetKey[]): Promise<FleetKeyFile> {
    try {
      return new FleetKeyFile(path, parse, await readFile(path, 'utf8'))
    } catch (error) {
      throw namedError(path, error)
    }
  }

  /** As they were read last. */
  get keys(): readonly FleetKey[] {
    return this.#keys
  }

  /**
   * Reads it again. While it can't be read, as in the middle of being replaced, the keys stay those that it held.
   * @returns whether it holds other ones @throws FleetKeyError that names the file
   */
  async reread(): Promise<boolean> {
    try {
      const text = await readFile(this.#path, 'utf8')
      if (text === this.#text) return false
      this.#keys = this.#parse(text)
      this.#text = text
      return true
    } catch (error) {
      throw namedError(this.#path, error)
    }
  }
}

const namedError = (path: string, error: unknown): FleetKeyError => {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  return new FleetKeyError(isMissing ? `${path} does not exist` : `${path}: ${messageOf(error)}`, { cause: error })
}
