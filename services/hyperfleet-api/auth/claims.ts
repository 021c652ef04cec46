import type { TaskAccounts } from '#apis/hyperfleet.redhat.com/task-accounts.ts'
import type { BoundNames } from './bound-names.ts'
import type { Role } from './role.ts'
import { namesOfTaskAccount } from './task-account.ts'

/** The payload of a token. RFC 7519, section 4. */
export type Claims = Readonly<Record<string, unknown>>

/** What every token that was taken has. */
export interface TokenClaims extends Claims {
  /** Seconds since the epoch. */
  readonly exp?: number
}

/** Gives roles, and names to act for, to whom it names. */
export interface RoleMapping extends Partial<BoundNames> {
  /** The `sub` of a token, or the caller's identity. */
  readonly subject?: string | undefined
  /** One of the groups of a token. */
  readonly group?: string | undefined
  readonly roles: readonly Role[]
}

/** Where an issuer's tokens name the caller. */
export interface IdentityRules {
  /** Dotted path of a claim; `email` when it is verified, else `sub`, when undefined. */
  readonly identityClaim?: string | undefined
  /** What an identity must look like. */
  readonly identityPattern?: RegExp | undefined
}

/** Where an issuer's tokens get their roles from. */
export interface RoleRules {
  /** Dotted path of a claim with role names; none is read when undefined, since another program's `admin` is not ours. */
  readonly rolesClaim?: string | undefined
  /** Dotted path of the claim with group names. */
  readonly groupsClaim: string
  readonly mappings: readonly RoleMapping[]
  /** What every caller with a good token has. */
  readonly defaultRoles: readonly Role[]
  /** Whose accounts are those of adapter tasks (API-104). */
  readonly taskAccounts?: readonly TaskAccounts[] | undefined
}

const MAX_IDENTITY_CHARS = 256

/** An identity, or why there is none. */
export type Identity = { readonly identity: string } | { readonly missing: string }

/** The caller's identity; it is stamped on what the caller writes. Go service: identity_claim, identity_claim_pattern. */
export const readIdentity = (claims: Claims, { identityClaim, identityPattern }: IdentityRules): Identity => {
  const name = identityClaim ?? (hasVerifiedEmail(claims) ? 'email' : 'sub')
  const value = readClaim(claims, name)
  if (typeof value !== 'string' || value === '') return { missing: `the token has no claim ${name}` }
  return checkIdentity(value, `the claim ${name}`, identityPattern)
}

/** @param where for the reason, e.g. `the claim email` */
export const checkIdentity = (value: string, where: string, pattern?: RegExp): Identity => {
  if (value.length > MAX_IDENTITY_CHARS) return { missing: `${where} has more than ${MAX_IDENTITY_CHARS} characters` }
  if (/\p{Cc}/u.test(value) || !value.isWellFormed()) return { missing: `${where} has control characters` }
  if (pattern?.test(value) === false) return { missing: `${where} is not as the configuration wants it` }
  return { identity: value }
}

/** An address whose issuer doesn't say that it was confirmed may be another person's (API-82). OpenID Connect Core, section 5.1. */
const hasVerifiedEmail = ({ email, email_verified }: Claims): boolean =>
  typeof email === 'string' && email !== '' && (email_verified === true || email_verified === 'true')

/** What a caller may do, and in whose name. */
export interface Grants extends BoundNames {
  readonly roles: readonly Role[]
}

/** Every role that the token, the mapping and the issuer's default give, and every name that the mapping gives, or the account of a task has. */
export const readGrants = (
  claims: Claims,
  identity: Identity,
  rules: RoleRules & IdentityRules,
  known: readonly Role[],
): Grants => {
  const { rolesClaim, groupsClaim, mappings, defaultRoles, identityClaim, taskAccounts = [] } = rules
  const named = rolesClaim === undefined ? [] : readNames(claims, rolesClaim)
  const groups = readNames(claims, groupsClaim)
  const isTrusted = identityClaim !== 'email' || hasVerifiedEmail(claims)
  const subjects = [claims.sub, isTrusted && 'identity' in identity ? identity.identity : undefined]
  const matching = mappings.filter(
    ({ subject, group }) =>
      (subject !== undefined && subjects.includes(subject)) || (group !== undefined && groups.includes(group)),
  )
  // By the token's own word alone: an identity may come from a claim that its holder writes. Whom a mapping gives roles is no task: the
  // managers have accounts in the namespace of the tasks.
  const hasRoles = matching.some(({ subject, roles }) => subject !== undefined && roles.length > 0)
  const ofTask = hasRoles ? undefined : namesOfTaskAccount(claims.sub, taskAccounts)
  const mapped: readonly RoleMapping[] =
    ofTask === undefined ? matching : [...matching, { roles: ['adapter'], ...ofTask }]
  return {
    roles: known.filter(
      (role) => defaultRoles.includes(role) || named.includes(role) || mapped.some(({ roles }) => roles.includes(role)),
    ),
    adapters: mapped.flatMap(({ adapters = [] }) => adapters),
    consumers: mapped.flatMap(({ consumers = [] }) => consumers),
  }
}

/** A claim by its whole name, which may have dots in it, or by its path. */
const readClaim = (claims: Claims, path: string): unknown => {
  if (Object.hasOwn(claims, path)) return claims[path]
  return path
    .split('.')
    .reduce<unknown>(
      (value, key) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Claims)[key] : undefined,
      claims,
    )
}

/** A list of names, or names separated by spaces as in `scope`. */
const readNames = (claims: Claims, path: string): string[] => {
  const value = readClaim(claims, path)
  if (Array.isArray(value)) return value.filter((item) => typeof item === 'string')
  return typeof value === 'string' ? value.split(' ') : []
}
