import type { IncomingHttpHeaders } from 'node:http'
import type { Authenticator } from '../auth/authenticate.ts'
import { EVERY_ROLE, permits, type Role } from '../auth/role.ts'
import { createStreamLimit } from '../auth/stream-limit.ts'
import { type Tenancy, type TenantRules, tenancyOf } from '../auth/tenancy.ts'
import { createRateLimit, type Pace } from '../auth/token-bucket.ts'
import { Problem } from '../problems/problem.ts'
import type { Operation } from './operation.ts'

/** Who sends a request, as far as the operations need to know. */
export interface Caller {
  readonly identity: string
  /** Tells callers apart; undefined when callers are not asked who they are. */
  readonly key: string | undefined
  readonly roles: readonly Role[]
  readonly tenancy: Tenancy | undefined
}

export interface GuardOptions {
  /** Callers are not asked who they are without one. */
  readonly authenticator?: Authenticator | undefined
  readonly tenants?: TenantRules | undefined
  /** For each caller who is known: requests, and apart from them what adapters and Sentinels send. */
  readonly pace?: Pace | undefined
  /** Open streams of each caller who is known. */
  readonly mostStreams?: number | undefined
  readonly now: () => Date
}

export interface Guard {
  /** Finds out who asks. @throws Problem */
  identify(operation: Operation, headers: IncomingHttpHeaders): Promise<Caller>
  /** Lets a caller in, as what they are to the operation. @throws Problem */
  admit(operation: Operation, caller: Caller, headers: IncomingHttpHeaders): Caller
  /** Takes a place for a stream; returns how to give it back. @throws Problem */
  openStream(caller: Caller): () => void
}

/** Who writes while there is no authentication; the peer's. */
const ANONYMOUS = 'system@hyperfleet.local'
const UNKNOWN: Caller = { identity: ANONYMOUS, key: undefined, roles: EVERY_ROLE, tenancy: undefined }
/** Seconds after which one who has too many streams may look again. */
const STREAM_RETRY = 5

/**
 *   request ─► token (401, 503) ─► pace (429) ─► role (403) ─► tenant (403) ─► operation
 */
export const createGuard = ({ authenticator, tenants, pace, mostStreams, now }: GuardOptions): Guard => {
  const limit = pace && createRateLimit(pace)
  const streams = mostStreams === undefined ? undefined : createStreamLimit(mostStreams)

  return {
    identify: async (operation, headers) => {
      if (authenticator === undefined) return UNKNOWN
      const { identity, key, roles } = await authenticator.authenticate(headers)
      const name = 'identity' in identity ? identity.identity : ANONYMOUS
      if ('missing' in identity && operation.method !== 'GET')
        throw new Problem('unauthenticated', `Unable to resolve caller identity: ${identity.missing}`)
      return { identity: name, key, roles, tenancy: undefined }
    },
    admit: (operation, caller, headers) => {
      if (caller.key !== undefined && limit !== undefined) {
        // Reports have their own bucket: whoever reads a lot still reports.
        const wait = limit.take(`${operation.role === 'adapter' ? 'adapter' : 'other'} ${caller.key}`, now())
        if (wait > 0) throw tooMany('you send more requests than one caller may', Math.ceil(wait / 1000))
      }
      if (!permits(operation.role, caller.roles)) throw lacksRole(operation.role, caller)
      if (tenants === undefined) return caller
      const tenancy = tenancyOf(headers, tenants)
      if (tenancy === 'system') {
        // The header alone is the gateway's word; a token says more.
        if (!permits('adapter', caller.roles)) throw lacksRole('adapter', caller)
        if (operation.role === 'reader' || operation.role === 'adapter') return caller
        throw new Problem('forbidden', 'system identities may only write status and conditions')
      }
      if (operation.tenants !== true)
        throw new Problem('forbidden', `this is for system identities only: send ${tenants.systemHeader}: true`)
      return { ...caller, tenancy }
    },
    openStream: ({ key }) => {
      if (key === undefined || streams === undefined) return () => {}
      const close = streams.open(key)
      if (close === undefined)
        throw tooMany(`you have ${mostStreams} streams open, which is as many as one caller may`, STREAM_RETRY)
      return close
    },
  }
}

const lacksRole = (needed: Role, { roles }: Caller): Problem =>
  new Problem(
    'forbidden',
    `this needs the role ${needed}, and you have ${roles.length === 0 ? 'none' : roles.join(', ')}`,
  )

const tooMany = (reason: string, seconds: number): Problem =>
  new Problem('tooManyRequests', `${reason}: wait ${seconds} s`, [], { 'Retry-After': String(seconds) })
