import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { detach } from '#lib/process/detach.ts'
import type { Logger } from '#operator/model/log.ts'
import { API_ERRORS } from '../errors.ts'

/** The public keys of an issuer. */
export interface Keys {
  /** The key that a token says it is signed with. @throws KeysUnavailable, or jose's errors when there is no such key */
  readonly find: JWTVerifyGetKey
  /** Reads them now. @throws Error when they can't be had */
  refresh(): Promise<void>
}

/** Whether a token is good can't be told: its issuer's keys can't be had. */
export class KeysUnavailable extends errorOf(API_ERRORS, 'KeysUnavailable') {
  constructor(options?: ErrorOptions) {
    super('the keys of the issuer can’t be had', options)
  }
}

export interface KeySource {
  /** For the log: the file or the URL. */
  readonly name: string
  /** @throws Error when they can't be had now */
  read(): Promise<JSONWebKeySet>
}

/** Milliseconds. */
const KEY_CACHE_MS = {
  /** After so long they are read again, beside the requests: a key that its issuer took back is then no longer good. */
  refreshAfter: 5 * 60_000,
  /** Between two reads: every sender of a token can ask for unknown keys. */
  minInterval: 10_000,
  /** Keys that could not be read again for so long are not trusted any more. */
  maxAge: 24 * 3_600_000,
} as const

/**
 *   token ─► key known? ─┬─ yes ─► use it; read again beside, once it is older than `fresh`
 *                        └─ no ──► read again, at most once a `cooldown` ─┬─ there now ─► use it
 *                                                                         ├─ not there ─► 401
 *                                                                         └─ can't read ► 503
 */
export const createKeys = (source: KeySource, now: () => Date, log: Logger): Keys => {
  let cached: { readonly find: ReturnType<typeof createLocalJWKSet>; readonly readAt: number } | undefined
  let triedAt = Number.NEGATIVE_INFINITY
  let failure: unknown
  let reading: Promise<void> | undefined

  const read = async (): Promise<void> => {
    triedAt = now().getTime()
    try {
      cached = { find: createLocalJWKSet(await source.read()), readAt: now().getTime() }
      failure = undefined
    } catch (error) {
      failure = error
      log.warn('the keys of an issuer can’t be read, the next token that needs them has them read again', {
        source: source.name,
        error: messageOf(error),
      })
    } finally {
      reading = undefined
    }
  }
  /** Joins a read under way; begins none that is too early. */
  const rereadIfAllowed = async (): Promise<void> => {
    if (reading === undefined && now().getTime() - triedAt < KEY_CACHE_MS.minInterval) return
    reading ??= read()
    await reading
  }

  return {
    refresh: async () => {
      reading ??= read()
      await reading
      if (failure !== undefined) throw failure
    },
    find: async (header, token): Promise<CryptoKey> => {
      const age = () => (cached === undefined ? Number.POSITIVE_INFINITY : now().getTime() - cached.readAt)
      if (age() > KEY_CACHE_MS.maxAge) await rereadIfAllowed()
      else if (age() > KEY_CACHE_MS.refreshAfter) detach('reading the keys of an issuer', rereadIfAllowed())
      if (cached === undefined || age() > KEY_CACHE_MS.maxAge) throw new KeysUnavailable({ cause: failure })
      try {
        return await cached.find(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        await rereadIfAllowed()
        if (failure !== undefined) throw new KeysUnavailable({ cause: failure })
        return cached.find(header, token)
      }
    },
  }
}
