import { decodeJwt } from 'jose'
import type { Logger } from '#operator/model/log.ts'
import { Problem } from '../problems/problem.ts'
import { checkIdentity, type Grants, readGrants, readIdentity } from './claims.ts'
import { CLOCK_LEEWAY_SECONDS, type Issuer, type IssuerSettings, openIssuer } from './issuer.ts'
import { KeysUnavailable } from './keys.ts'
import { ROLES } from './role.ts'
import type { Headers } from './tenancy.ts'

/** A caller that has shown a good token. */
export interface Principal extends Grants {
  /** Stamped on what they write. */
  readonly identity: { readonly identity: string } | { readonly missing: string }
  /** Tells callers apart, also those of different issuers with one name. */
  readonly key: string
  /** The token's own word for the caller, whatever a gateway's header says. */
  readonly subject: string
  /** When the token is no longer taken, in milliseconds since the epoch. */
  readonly expiresAt: number
}

export interface Authenticator {
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
  return {
    authenticate: async (headers) => {
      const token = readBearerToken(headers.authorization)
      const issuer = issuers.find(({ name }) => name === readUnverifiedIssuer(token))
      if (issuer === undefined)
        throw new Problem('invalidCredentials', 'invalid JWT token: its issuer is not one that this API takes')
      const claims = await issuer.verify(token).catch((error: unknown) => {
        if (!(error instanceof KeysUnavailable)) throw error
        throw new Problem('unavailable', `${error.message}, try again`)
      })
      return buildPrincipal(issuer, claims, headers)
    },
  }
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

const buildPrincipal = (
  { name, settings }: Issuer,
  claims: Awaited<ReturnType<Issuer['verify']>>,
  headers: Headers,
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
  return { identity, key: `${name} ${subject}`, subject, expiresAt, ...readGrants(claims, fromToken, settings, ROLES) }
}
