import type { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'

/** Why a request that lasted was ended: its token is no longer taken. The reader comes back with a new one (API-81). */
export const TOKEN_EXPIRED = new DOMException('the token has expired', 'AbortError')

/** Aborts a scope when a token is no longer taken; the scope's end ends the waiting. @param expiresAt milliseconds since the epoch */
export const abortWithToken = (scope: AbortScope, expiresAt: number, clock: Pick<Clock, 'now' | 'sleep'>): void => {
  const left = Math.max(0, expiresAt - clock.now().getTime())
  detach(
    'waiting for the end of a token',
    clock.sleep(left, scope.signal).then(() => scope.abort(TOKEN_EXPIRED)),
  )
}
