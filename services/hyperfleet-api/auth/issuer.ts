import { readFile } from 'node:fs/promises'
import { errors, jwtVerify } from 'jose'
import type { Logger } from '#operator/model/log.ts'
import { ConfigError } from '../config/config-error.ts'
import { Problem } from '../problems/problem.ts'
import type { IdentityRules, RoleRules, TokenClaims } from './claims.ts'
import { type KeyLocation, openKeySource } from './key-source.ts'
import { createKeys, KeysUnavailable } from './keys.ts'

/** An issuer of tokens that this API takes. */
export interface IssuerSettings extends IdentityRules, RoleRules {
  /** What stands before the names of its callers, where several issuers have callers of equal names (API-155). */
  readonly shortName?: string | undefined
  /** What `iss` must be; or a file with a token of this issuer, such as the pod's own, whose `iss` says it. */
  readonly issuer: string | { readonly sameAsTokenFile: string }
  /** One of them must be in `aud`. */
  readonly audiences: readonly [string, ...string[]]
  readonly keys: KeyLocation
  /** Header that names the caller in the stead of the token's claim: for a gateway that speaks for its users. */
  readonly identityHeader?: string | undefined
}

export interface Issuer {
  readonly name: string
  readonly settings: IssuerSettings
  /** The claims of a token. @throws Problem when it is not good; KeysUnavailable when that can't be told */
  verify(token: string): Promise<TokenClaims>
}

/** What a token may be signed with: nothing symmetric, since a checker could then also sign. RFC 8725, section 3.1. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** Seconds that clocks may differ. */
export const CLOCK_LEEWAY_SECONDS = 30

/** @throws ConfigError */
const checkSettings = ({ keys, rolesClaim, mappings, defaultRoles, taskAccounts = [] }: IssuerSettings): void => {
  if ('url' in keys && !isSafeKeyUrl(keys.url))
    throw new ConfigError(`${keys.url}: keys come over https, or over http from this machine only`)
  const isMapped = mappings.some(({ roles }) => roles.length > 0) || taskAccounts.length > 0
  if (rolesClaim === undefined && !isMapped && defaultRoles.length === 0)
    throw new ConfigError('no caller would have a role: name a claim with roles, a mapping, or default roles')
}

const isSafeKeyUrl = (url: string): boolean => {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
}

/**
 * Makes ready to check an issuer's tokens. Keys in a file must be there; a URL may be away for now.
 * @throws ConfigError, or Error when a file can't be read
 */
export const openIssuer = async (settings: IssuerSettings, now: () => Date, log: Logger): Promise<Issuer> => {
  checkSettings(settings)
  const { audiences, keys: place } = settings
  const name = typeof settings.issuer === 'string' ? settings.issuer : await readIssuer(settings.issuer.sameAsTokenFile)
  const keys = createKeys(openKeySource(place), now, log)
  await keys.refresh().catch((error: unknown) => {
    if ('file' in place) throw error
  })
  return {
    name,
    settings,
    verify: async (token) => {
      try {
        const { payload } = await jwtVerify(token, keys.find, {
          algorithms: ALGORITHMS,
          issuer: name,
          audience: [...audiences],
          clockTolerance: CLOCK_LEEWAY_SECONDS,
          currentDate: now(),
          requiredClaims: ['exp'],
        })
        return payload
      } catch (error) {
        if (error instanceof KeysUnavailable) throw error
        throw explainRejection(error)
      }
    },
  }
}

/** Of a token that no key of the issuer has signed. */
export const INVALID_TOKEN = 'invalid JWT token'

/** Says what is wrong with a token, not how near it came: the sender may be guessing. */
const explainRejection = (error: unknown): Problem => {
  if (error instanceof errors.JWTExpired) return new Problem('expiredToken', 'JWT token has expired')
  if (error instanceof errors.JWTClaimValidationFailed && error.reason === 'missing')
    return new Problem('invalidCredentials', `invalid JWT token: it has no claim ${error.claim}`)
  if (error instanceof errors.JWTClaimValidationFailed)
    return new Problem('invalidCredentials', `invalid JWT token: its claim ${error.claim} is not what this API takes`)
  if (error instanceof errors.JOSEAlgNotAllowed)
    return new Problem('invalidCredentials', 'invalid JWT token: its algorithm is not allowed')
  return new Problem('invalidCredentials', INVALID_TOKEN)
}

const readIssuer = async (file: string): Promise<string> => {
  const payload = (await readFile(file, 'utf8')).trim().split('.')[1] ?? ''
  try {
    const { iss } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { iss?: unknown }
    if (typeof iss === 'string') return iss
  } catch {
    // Told below.
  }
  throw new Error(`${file} is no token with a claim iss`)
}
