import { hostname } from 'node:os'
import type { Clock } from '#operator/model/clock.ts'

/** A certificate for as long as the process lives: callers reach a pod by port or name, and know the manager by no authority. */
export const selfSigned = async (clock: Clock) => {
  const { createAuthority, signLeaf } = await import('#operator/admission/certificates.ts')
  const now = clock.now().getTime()
  return signLeaf(await createAuthority(hostname(), now), [hostname()], now)
}
