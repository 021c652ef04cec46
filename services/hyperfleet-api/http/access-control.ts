import type { IncomingHttpHeaders } from 'node:http'
import type { Authenticator } from '../auth/authenticate.ts'
import { type ActingName, isBoundTo } from '../auth/bound-names.ts'
import type { Grants } from '../auth/claims.ts'
import { createInFlightLimit, type InFlightSettings } from '../auth/in-flight-limit.ts'
import { permits, type Role, UNAUTHENTICATED_ROLES } from '../auth/role.ts'
import { createStreamLimit } from '../auth/stream-limit.ts'
import { isTenantValue, readTenancy, type Tenancy, type TenantRules } from '../auth/tenancy.ts'
import { createRateLimiter, type RateLimitSettings } from '../auth/token-bucket.ts'
import { Problem } from '../problems/problem.ts'
import { tooManyRequests } from '../problems/too-many-requests.ts'
import type { Operation } from './operation.ts'

/** The caller of a request, as far as the operations need to know. */
export interface Caller extends Grants {
  readonly identity: string
  /** As the token names the caller; undefined when callers are not authenticated. */
  readonly subject: string | undefined
  /** That, with the issuer where there are several (API-155). */
  readonly qualifiedSubject: string | undefined
  /** When the token is no longer taken, in milliseconds since the epoch; undefined when callers are not authenticated. */
  readonly expiresAt: number | undefined
  /** Tells callers apart; undefined when callers are not authenticated. */
  readonly key: string | undefined
  readonly tenancy: Tenancy | undefined
}

export interface AccessControlOptions {
  /** Without one, callers are not authenticated. */
  readonly authenticator?: Authenticator | undefined
  readonly tenants?: TenantRules | undefined
  /** For each known caller: requests, and apart from them what adapters and Sentinels send. */
  readonly rateLimit?: RateLimitSettings | undefined
  /** Requests under way of known callers. */
  readonly inFlight?: InFlightSettings | undefined
  /** Open streams of each caller: by its token, or without one by its address. */
  readonly maxStreams?: number | undefined
  readonly now: () => Date
}

export interface AccessControl {
  /** Authenticates the caller. @throws Problem */
  authenticate(operation: Operation, headers: IncomingHttpHeaders): Promise<Caller>
  /** Lets a caller in, as what they are to the operation. @throws Problem */
  authorize(operation: Operation, caller: Caller, headers: IncomingHttpHeaders): Caller
  /** Lets a caller act for an adapter or a consumer group (API-80). @throws Problem */
  authorizeName(caller: Caller, name: ActingName): void
  /** Takes a place among the requests under way; returns how to give it back. @throws Problem */
  enter(caller: Caller): () => void
  /** Takes a place for a stream; returns how to give it back. @throws Problem */
  openStream(caller: Caller, address: string): () => void
}

/** Tells callers apart. */
export const nameOf = ({ key }: Pick<Caller, 'key'>, address: string): string =>
  key === undefined ? `address ${address}` : `caller ${key}`

/** The author of writes while there is no authentication; the Go service's. */
const ANONYMOUS = 'system@hyperfleet.local'
const UNAUTHENTICATED: Caller = {
  identity: ANONYMOUS,
  subject: undefined,
  qualifiedSubject: undefined,
  expiresAt: undefined,
  key: undefined,
  roles: UNAUTHENTICATED_ROLES,
  adapters: [],
  consumers: [],
  tenancy: undefined,
}
const NOT_A_GATEWAY =
  'your token is of no gateway that server.tenant.gateways names, so it does not say to which tenant a request belongs'
/** Seconds after which a caller with too many requests under way may try again. */
const IN_FLIGHT_RETRY_SECONDS = 1
/** Seconds after which a caller with too many streams may try again. */
const STREAM_RETRY_SECONDS = 5

/**
 *   request ─► token (401, 503) ─► pace (429) ─► role (403) ─► tenant (403) ─► names acted for (403) ─► operation
 */
export const createAccessControl = ({
  authenticator,
  tenants,
  rateLimit,
  inFlight,
  maxStreams,
  now,
}: AccessControlOptions): AccessControl => {
  const rateLimiter = rateLimit && createRateLimiter(rateLimit)
  const underWay = inFlight && createInFlightLimit(inFlight)
  const streams = maxStreams === undefined ? undefined : createStreamLimit(maxStreams)

  return {
    authenticate: async (operation, headers) => {
      if (authenticator === undefined) return UNAUTHENTICATED
      const { identity, ...principal } = await authenticator.authenticate(headers)
      const name = 'identity' in identity ? identity.identity : ANONYMOUS
      if ('missing' in identity && operation.method !== 'GET')
        throw new Problem('unauthenticated', `Unable to resolve caller identity: ${identity.missing}`)
      return { ...principal, identity: name, tenancy: undefined }
    },
    authorize: (operation, sender, headers) => {
      const isGateway = tenants?.gateways?.includes(sender.qualifiedSubject ?? '') === true
      const caller = isGateway ? { ...sender, key: keyOfTenant(sender.key, headers, tenants) } : sender
      if (caller.key !== undefined && rateLimiter !== undefined) {
        // Reports have their own bucket: a caller that reads a lot can still report.
        const wait = rateLimiter.take(`${operation.role === 'adapter' ? 'adapter' : 'other'} ${caller.key}`, now())
        if (wait > 0) throw tooManyRequests('you send more requests than one caller may', Math.ceil(wait / 1000))
      }
      if (!permits(operation.role, caller.roles)) throw missingRole(operation.role, caller)
      if (tenants === undefined) return caller
      const tenancy = readTenancy(headers, tenants)
      if (tenancy === 'system') {
        // The header alone is the gateway's word; a token says more.
        if (!permits('adapter', caller.roles)) throw missingRole('adapter', caller)
        if (operation.role === 'reader' || operation.role === 'adapter') return caller
        throw new Problem('forbidden', 'system identities may only write status and conditions')
      }
      // Any caller could say that it is of another tenant: API-174.
      if (authenticator !== undefined && !isGateway) throw new Problem('forbidden', NOT_A_GATEWAY)
      if (operation.tenants !== true)
        throw new Problem('forbidden', `this is for system identities only: send ${tenants.systemHeader}: true`)
      return { ...caller, tenancy }
    },
    authorizeName: (caller, name) => {
      if (!permits('admin', caller.roles) && !isBoundTo(caller, name)) throw unboundName(caller, name)
    },
    enter: ({ key }) => {
      if (key === undefined || underWay === undefined) return () => {}
      const leave = underWay.enter(key)
      if (leave === undefined)
        throw tooManyRequests('you have as many requests under way as one caller may', IN_FLIGHT_RETRY_SECONDS)
      return leave
    },
    openStream: (caller, address) => {
      if (streams === undefined) return () => {}
      const close = streams.open(nameOf(caller, address))
      if (close === undefined)
        throw tooManyRequests(
          `you have ${maxStreams} streams open, which is as many as one caller may`,
          STREAM_RETRY_SECONDS,
        )
      return close
    },
  }
}

/**
 * A gateway is one caller, and has many tenants: each of them has its own share of what a caller may have, so that none learns by a refusal what others do,
 * or takes their room (API-183). What a tenant may choose for itself, such as one of its projects, gives it no more.
 */
const keyOfTenant = (
  key: string | undefined,
  headers: IncomingHttpHeaders,
  { dimensions }: TenantRules,
): string | undefined => {
  const required = dimensions.filter((one) => one.required).map(({ header }) => headers[header.toLowerCase()])
  const isSaid = required.every((value) => typeof value === 'string' && isTenantValue(value))
  return key === undefined || !isSaid ? key : JSON.stringify([key, ...required])
}

const missingRole = (needed: Role, { roles }: Caller): Problem =>
  new Problem(
    'forbidden',
    `this needs the role ${needed}, and you have ${roles.length === 0 ? 'none' : roles.join(', ')}`,
  )

const unboundName = ({ subject }: Caller, { kind, name }: ActingName): Problem =>
  new Problem(
    'unboundName',
    `you may not act for the ${kind === 'adapter' ? 'adapter' : 'consumer group'} '${name}': an administrator of this API ` +
      `binds it to you with --auth-${kind}s=${subject}=${name}, or with ${kind}s beside your roles in role_mappings`,
  )
