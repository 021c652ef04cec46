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
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { readIfThere } from './placement-store.ts'

export interface InfoSigner {
  /** The header of a value; empty where the device has no key. @throws Error for a file without a key, and the system's error for a folder that can't be written */
  sign(device: string, bytes: Uint8Array): Promise<string>
}

/** Of a device that has no key of its own. */
export const NO_SIGNER: InfoSigner = { sign: async () => '' }

/** The seed of a user's nkey, alone or in a `.creds` file. */
const SEED = /\bSU[A-Z2-7]{56}\b/

/** Milliseconds for which the same info keeps its counter over a restart: its Device is not written again. A folder that was put back is older. */
const KEEPS_COUNTER_MS = 24 * 3_600_000

/** Milliseconds by which the clock is set, and not only corrected: a counter of before is as wrong as the clock was. */
const CLOCK_WAS_SET_MS = 3_600_000

interface Counter {
  readonly counter: number
  readonly digest: string
}

/** @param keyFile as `--nats-credentials` names it, read again for each signature @param state the folder of the agent */
export const infoSigner = (keyFile: string, state: string, clock: Pick<Clock, 'now' | 'monotonic'>): InfoSigner => {
  const counterFile = join(state, 'info-counter.json')
  /** Of this process: while it runs no other folder is put in the place of its own. */
  let own: (Counter & { readonly clockBegan: number }) | undefined
  let signing: Promise<unknown> = Promise.resolve()

  const counterOf = async (bytes: Uint8Array): Promise<number> => {
    const digest = createHash('sha256').update(bytes).digest('hex')
    const now = clock.now().getTime()
    const clockBegan = now - monotonic(clock)
    if (own?.digest === digest && Math.abs(clockBegan - own.clockBegan) < CLOCK_WAS_SET_MS) return own.counter
    const last = parseCounter(await readIfThere(counterFile))
    const isRecent = last !== undefined && Math.abs(now - last.counter) < KEEPS_COUNTER_MS
    const counter =
      isRecent && last.digest === digest && own === undefined ? last.counter : Math.max((last?.counter ?? 0) + 1, now)
    if (counter !== last?.counter) await replaceFile(counterFile, JSON.stringify({ counter, digest }))
    own = { counter, digest, clockBegan }
    return counter
  }

  const sign = async (device: string, bytes: Uint8Array): Promise<string> => {
    const [seed] = SEED.exec(await readFile(keyFile, 'utf8')) ?? []
    // As while it is exchanged: it is tried again.
    if (seed === undefined) throw new Error(`${keyFile} holds no key of a NATS user to sign with`)
    const pair = fromSeed(new TextEncoder().encode(seed))
    return signInfo((text) => pair.sign(text), device, await counterOf(bytes), bytes)
  }

  return {
    sign(device, bytes) {
      const signature = signing.then(() => sign(device, bytes))
      signing = signature.catch(() => undefined)
      return signature
    },
  }
}

const parseCounter = (bytes: Buffer | undefined): Counter | undefined => {
  try {
    const found: unknown = JSON.parse(bytes?.toString() ?? 'null')
    return isObject(found) && isCount(found.counter) && typeof found.digest === 'string'
      ? { counter: found.counter, digest: found.digest }
      : undefined
  } catch {
    return undefined
  }
}
