/**
 * Signs what the device says of itself, by the key with which it signs in to NATS. AGENT-56.
 *
 * Each other info has a higher counter, which is kept in `<state>/info-counter.json`: what a thief puts back is older than what the
 * operator knows. Where the folder was lost the time is higher than any counter before. AGENT-57.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fromSeed } from '@nats-io/nkeys'
import { isCount } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { signInfo } from '#apis/fleet.nationtech.io/kv/info-signature.ts'
import { isObject } from '#lib/json/is-object.ts'
import { replaceFile } from '#lib/replace-file.ts'
import type { Clock } from '#operator/model/clock.ts'
import { readIfThere } from './placement-store.ts'

export interface InfoSigner {
  /** The header of a value; empty where the device has no key. @throws the system's error for a folder that can't be written */
  sign(device: string, bytes: Uint8Array): Promise<string>
}

/** Of a device that has no key of its own. */
export const NO_SIGNER: InfoSigner = { sign: async () => '' }

/** The seed of a user's nkey, alone or in a `.creds` file. */
const SEED = /\bSU[A-Z2-7]{56}\b/

/** @param keyFile as `--nats-credentials` names it, read again for each signature @param state the folder of the agent */
export const infoSigner = (keyFile: string, state: string, clock: Pick<Clock, 'now'>): InfoSigner => {
  const counterFile = join(state, 'info-counter.json')

  /** The same info has the same counter, also after a restart: so its Device is not written again. */
  const counterOf = async (bytes: Uint8Array): Promise<number> => {
    const digest = createHash('sha256').update(bytes).digest('hex')
    const last = parseCounter(await readIfThere(counterFile))
    if (last?.digest === digest) return last.counter
    const counter = Math.max((last?.counter ?? 0) + 1, clock.now().getTime())
    await replaceFile(counterFile, JSON.stringify({ counter, digest }))
    return counter
  }

  return {
    async sign(device, bytes) {
      const [seed] = SEED.exec(await readFile(keyFile, 'utf8')) ?? []
      if (seed === undefined) return ''
      const pair = fromSeed(new TextEncoder().encode(seed))
      return signInfo((text) => pair.sign(text), device, await counterOf(bytes), bytes)
    },
  }
}

const parseCounter = (bytes: Buffer | undefined): { readonly counter: number; readonly digest: string } | undefined => {
  try {
    const found: unknown = JSON.parse(bytes?.toString() ?? 'null')
    return isObject(found) && isCount(found.counter) && typeof found.digest === 'string'
      ? { counter: found.counter, digest: found.digest }
      : undefined
  } catch {
    return undefined
  }
}
