/** The user that sent a request, and whether it may be answered. FLEET-57. */
import type { FastifyRequest } from 'fastify'
import { REPLAYABLE } from '#operator/authorization.ts'
import { isLoopbackHost } from '#operator/binding.ts'
import type { Clock } from '#operator/model/clock.ts'
import { HttpError } from '../http-error.ts'
import type { Guard } from './guard.ts'
import type { Sessions } from './sessions.ts'
import { renderForbidden, renderSignIn } from './signin.ts'

/** How often it is asked whether a viewer with an open page may still look: as long as the API server's answer holds. */
const RIGHT_RECHECK_INTERVAL = '1m'

/**
 * A page of another site can have its own name point to this machine, and would then read what is served here. It can't choose the
 * header Host, which then has its name.
 */
export const refuseForeignNames = ({ headers: { host = '' } }: FastifyRequest): void => {
  if (isLoopbackHost(host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1'))) return
  throw new HttpError(
    421,
    'Not here',
    `this dashboard serves only this machine, so it is not called ${JSON.stringify(host)}: open it as localhost or 127.0.0.1`,
  )
}

/** Forms are sent by our own pages. */
export const refuseOtherSites = ({ headers }: FastifyRequest): void => {
  const { origin, host } = headers
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)) return
  throw new HttpError(403, 'Not from here', 'a form of another site was sent to the dashboard')
}

export const authenticateViewer = async (
  request: FastifyRequest,
  guard: Guard,
  sessions: Sessions,
): Promise<string> => {
  const [, bearer] = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  const token = bearer ?? sessions.tokenOf(request.headers.cookie)
  if (token === undefined)
    throw new HttpError(401, 'Sign in', 'a token is needed: Authorization: Bearer <token>', renderSignIn(undefined))
  const verdict = await requireKnownToken(guard, token)
  if (verdict.kind === 'allowed') return verdict.user
  throw new HttpError(
    403,
    'Not allowed',
    `${verdict.user} may not get the path /dashboard`,
    renderForbidden(verdict.user),
  )
}

/** Until the viewer may not look any more, or the signal aborts. While the API server can't answer, the page stays open. */
export const waitUntilForbidden = async (
  request: FastifyRequest,
  guard: Guard,
  sessions: Sessions,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> => {
  for (;;) {
    await clock.sleep(RIGHT_RECHECK_INTERVAL, signal)
    if (signal.aborted) return
    try {
      await authenticateViewer(request, guard, sessions)
    } catch (error) {
      if (!(error instanceof HttpError) || error.status < 500) return
    }
  }
}

export const requireKnownToken = async (guard: Guard, token: string) => {
  const verdict = await guard.authorize(token)
  if (verdict.kind === 'unauthenticated' || verdict.kind === 'replayable') {
    const unknown = 'the API server does not know this token: it is wrong, has expired, or is for something else'
    const problem = verdict.kind === 'replayable' ? REPLAYABLE : unknown
    throw new HttpError(401, 'Sign in', problem, renderSignIn(problem))
  }
  if (verdict.kind === 'unavailable') throw new HttpError(503, 'No viewer can be let in', verdict.reason)
  return verdict
}
