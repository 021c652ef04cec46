import { decodeJwt } from 'jose'
import type { Logger } from '#operator/model/log.ts'
import { ConfigError } from '../config/config-error.ts'
import { Problem } from '../problems/problem.ts'
import { checkIdentity, type Grants, type Identity, readGrants, readIdentity } from './claims.ts'
import { CLOCK_LEEWAY_SECONDS, INVALID_TOKEN, type Issuer, type IssuerSettings, openIssuer } from './issuer.ts'
import { KeysUnavailable } from './keys.ts'
import { type Origin, originsOf, qualify } from './origins.ts'
import { ROLES } from './role.ts'
import type { Headers } from './tenancy.ts'

/** A caller that has shown a good token. */
export interface Principal extends Grants {
  /** Stamped on what they write; of several issuers it tells which one (API-155). */
  readonly identity: Identity
  /** Tells callers apart, also those of different issuers with one name. */
  readonly key: string
  /** The token's own word for the caller, whatever a gateway's header says; as the issuer's mappings have it. */
  readonly subject: string
  /** The subject as the identity is told. */
  readonly qualifiedSubject: string
  /** When the token is no longer taken, in milliseconds since the epoch. */
  readonly expiresAt: number
}

export interface Authenticator {
  /** How callers of each issuer are told from those of others. */
  readonly origins: readonly Origin[]
  /** The caller that sends a request. @throws Problem */
  authenticate(headers: Headers): Promise<Principal>
}

/** Bearer tokens of any of the issuers. RFC 6750. @throws Error when an issuer's files can't be read */
export const createAuthenticator = async (
  settings: readonly IssuerSettings[],
  now: () => Date,
  log: Logger,
): Promise<Authenticator> => {
  const issuers = await Promise.all(settings.map((each) => openIssuer(each, now, log)))
  rejectAmbiguous(issuers)
  const origins = originsOf(issuers.map(({ name, settings: { shortName } }) => ({ name, shortName })))
  return {
    origins: issuers.map(({ name }, at) => ({ prefix: origins[at] ?? '', issuer: name })),
    authenticate: async (headers) => {
      const token = readBearerToken(headers.authorization)
      const name = readUnverifiedIssuer(token)
      const candidates = issuers.filter((issuer) => issuer.name === name)
      if (candidates.length === 0)
        throw new Problem('invalidCredentials', 'invalid JWT token: its issuer is not one that this API takes')
      const { issuer, claims } = await findSigner(candidates, token)
      const at = issuers.indexOf(issuer)
      const qualified = (text: string): string => {
        const whole = qualify(origins, at, text)
        if (whole !== undefined) return whole
        throw new Problem(
          'invalidCredentials',
          `the caller’s name begins as those of another issuer’s callers: ${text}`,
        )
      }
      return buildPrincipal(issuer, claims, headers, { isNameShared: candidates.length > 1, qualified })
    },
  }
}

/** Several clusters may call themselves by one name; then their keys are all that tells them apart (API-136, API-154). @throws ConfigError */
const rejectAmbiguous = (issuers: readonly Issuer[]): void => {
  for (const [at, { name, settings }] of issuers.entries())
    for (const other of issuers.slice(0, at)) {
      if (other.name !== name) continue
      if (keyPlace(other.settings) === keyPlace(settings))
        throw new ConfigError(
          `two issuers are ${name} with keys of one place, ${keyPlace(settings)}: leave one out, or give each cluster the keys of its own API server`,
        )
      if (!isPinned(other) && !isPinned(issuers[at] as Issuer))
        throw new ConfigError(
          `two issuers are ${name} with keys by URL, ${keyPlace(other.settings)} and ${keyPlace(settings)}: the server of one could show the other’s keys; write the keys of all but one into files`,
        )
    }
}

const keyPlace = ({ keys }: IssuerSettings): string => ('file' in keys ? keys.file : keys.url)

/** Its keys are in a file: the administrator’s word and not its server’s. */
const isPinned = ({ settings }: Issuer): boolean => 'file' in settings.keys

type Claims = Awaited<ReturnType<Issuer['verify']>>

interface Signer {
  readonly issuer: Issuer
  readonly claims: Claims
}

/**
 * The one of the issuers of a name whose key has signed the token. One whose keys come by URL is asked after all others, as its
 * server may show their keys too, or hang (API-154). A token that several take is refused: it can't be told whose it is. Keys that
 * can't be had don't keep the others' callers out.
 * @throws Problem
 */
const findSigner = async (candidates: readonly Issuer[], token: string): Promise<Signer> => {
  const { pinned = [], served = [] } = Object.groupBy(candidates, (issuer) => (isPinned(issuer) ? 'pinned' : 'served'))
  const failures: unknown[] = []
  for (const group of [pinned, served]) {
    const signer = await findAmong(group, token, failures)
    if (signer !== undefined) return signer
    const rejection = failures.find(isRejection)
    if (rejection !== undefined) throw rejection
  }
  const unavailable = failures.find((error) => error instanceof KeysUnavailable)
  if (unavailable !== undefined) throw new Problem('unavailable', `${unavailable.message}, try again`)
  throw failures[0]
}

/** A key of the issuer has signed the token, and it is not good all the same: expired, or for another audience. */
const isRejection = (error: unknown): boolean =>
  !(error instanceof KeysUnavailable || (error instanceof Problem && error.message === INVALID_TOKEN))

/** @param failures gets why others don't take it @throws Problem */
const findAmong = async (
  candidates: readonly Issuer[],
  token: string,
  failures: unknown[],
): Promise<Signer | undefined> => {
  const found: Signer[] = []
  for (const issuer of candidates)
    try {
      found.push({ issuer, claims: await issuer.verify(token) })
    } catch (error) {
      failures.push(error)
    }
  if (found.length > 1)
    throw new Problem(
      'invalidCredentials',
      'invalid JWT token: several issuers of its name have the key that signed it',
    )
  return found[0]
}

const readBearerToken = (header: Headers[string]): string => {
  if (header === undefined || header === '') throw new Problem('unauthenticated', 'missing authorization header')
  const [, token] = (typeof header === 'string' && /^bearer +([^\s]+)$/i.exec(header)) || []
  if (token === undefined)
    throw new Problem('invalidCredentials', 'the authorization header must be: Bearer <token>, with a JWT')
  return token
}

/** Not checked yet: it only says whose keys to check with. */
const readUnverifiedIssuer = (token: string): string | undefined => {
  try {
    return decodeJwt(token).iss
  } catch {
    throw new Problem('invalidCredentials', 'invalid JWT token')
  }
}

/** How the issuer of a token stands among the others. */
interface AmongIssuers {
  /** Others have its name. */
  readonly isNameShared: boolean
  /** A name of its callers among those of all issuers. @throws Problem */
  readonly qualified: (name: string) => string
}

/** @throws Problem */
const buildPrincipal = (
  { name, settings }: Issuer,
  claims: Claims,
  headers: Headers,
  { isNameShared, qualified }: AmongIssuers,
): Principal => {
  const fromToken = readIdentity(claims, settings)
  const fromHeader = settings.identityHeader === undefined ? undefined : headers[settings.identityHeader.toLowerCase()]
  const identity =
    typeof fromHeader === 'string' && fromHeader !== ''
      ? checkIdentity(fromHeader, `the header ${settings.identityHeader}`, settings.identityPattern)
      : fromToken
  const subject = typeof claims.sub === 'string' || !('identity' in fromToken) ? String(claims.sub) : fromToken.identity
  // Undefined is refused before: requiredClaims.
  const expiresAt = ((claims.exp ?? 0) + CLOCK_LEEWAY_SECONDS) * 1000
  return {
    identity: 'identity' in identity ? { identity: qualified(identity.identity) } : identity,
    qualifiedSubject: qualified(subject),
    key: `${isNameShared ? `${name} ${keyPlace(settings)}` : name} ${subject}`,
    subject,
    expiresAt,
    ...readGrants(claims, fromToken, settings, ROLES),
  }
}
