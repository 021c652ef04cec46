/** A file with keys of the fleet, which may be exchanged while a program runs. FLEET-104, AGENT-48. */
import { readFile } from 'node:fs/promises'
import { messageOf } from '#lib/errors/message-of.ts'
import { type FleetKey, FleetKeyError } from './signing-keys.ts'

export class FleetKeyFile {
  readonly #path: string
  readonly #parse: (pem: string) => readonly FleetKey[]
  #text: string
  #keys: readonly FleetKey[]
  #lastProblem: string | undefined

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
   * @param onProblem told why it can't, once for each reason in a row @returns whether it holds other ones
   */
  async reread(onProblem: (problem: string) => void): Promise<boolean> {
    try {
      const text = await readFile(this.#path, 'utf8')
      const isOther = text !== this.#text
      if (isOther) this.#keys = this.#parse(text)
      this.#text = text
      this.#lastProblem = undefined
      return isOther
    } catch (error) {
      const { message } = namedError(this.#path, error)
      if (message !== this.#lastProblem) onProblem(message)
      this.#lastProblem = message
      return false
    }
  }
}

const namedError = (path: string, error: unknown): FleetKeyError => {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  return new FleetKeyError(isMissing ? `${path} does not exist` : `${path}: ${messageOf(error)}`, { cause: error })
}
