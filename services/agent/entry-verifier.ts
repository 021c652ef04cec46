/** Whether an entry is the fleet operator's, by the public keys that the device was given. AGENT-48, AGENT-49. */
import type { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import { verifyEntry } from '#apis/fleet.nationtech.io/kv/signature.ts'
import type { Logger } from '#operator/model/log.ts'

export interface EntryVerifierOptions {
  /** Undefined on a device that was given none: it takes every entry. */
  readonly keys: FleetKeyFile | undefined
  /** The ids of its keys are others. */
  readonly changed: (ids: readonly string[]) => void
  readonly log: Logger
}

export class EntryVerifier {
  readonly #options: EntryVerifierOptions

  constructor(options: EntryVerifierOptions) {
    this.#options = options
  }

  /** The ids of the keys that it knows; undefined when it verifies nothing. */
  get ids(): readonly string[] | undefined {
    return this.#options.keys?.keys.map(({ id }) => id)
  }

  /** @param signature empty when there is none @returns why it is not taken; undefined when it may be */
  async findProblem(key: string, bytes: Uint8Array, signature: string): Promise<string | undefined> {
    const { keys } = this.#options
    if (keys === undefined) return undefined
    await this.#reread(keys)
    const verdict = verifyEntry(keys.keys, key, bytes, signature)
    return verdict.verdict === 'Refused' ? verdict.reason : undefined
  }

  /** Entries are few, so each is looked at by what the file holds then: a key that was taken out opens nothing any more. */
  async #reread(keys: FleetKeyFile): Promise<void> {
    const { changed, log } = this.#options
    const tell = (problem: string) =>
      log.warn('the public keys of the fleet can’t be read, those that were read last go on', { problem })
    if (!(await keys.reread(tell))) return
    log.info('the public keys of the fleet are others', { keys: this.ids })
    changed(this.ids ?? [])
  }
}
