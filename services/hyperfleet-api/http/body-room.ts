import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { once } from '#lib/once.ts'
import { Problem } from '../problems/problem.ts'
import { tooManyRequests } from '../problems/too-many-requests.ts'
import type { Room } from '../storage/room.ts'
import { heldUntilClosed } from './held-until-closed.ts'
import { MAX_BODY_BYTES } from './limits.ts'

export interface BodyRoomOptions {
  readonly bodies: Room
  /** Tells callers apart. */
  readonly caller: string
  /** Milliseconds to wait for room: less than the caller has to send the request. */
  readonly patience: number
}

/**
 * Takes room for the body that a request announces, until its answer is sent (API-161); while others wait, one that comes slowly is cut off (API-204).
 * @returns how to give it back before @throws Problem when there is none for a while, or the caller is gone
 */
export const takeBodyRoom = async (
  headers: IncomingHttpHeaders,
  response: ServerResponse,
  { bodies, caller, patience }: BodyRoomOptions,
): Promise<() => void> => {
  const bytes = announcedBytes(headers)
  if (bytes === 0) return () => {}
  const waiting = new AbortController()
  const leave = () => waiting.abort(new Problem('tooSlow', 'the connection was closed before the request was read'))
  const timer = setTimeout(
    () => waiting.abort(tooManyRequests('bodies of other requests take all the room that there is', 1)),
    patience,
  )
  heldUntilClosed(response, leave)
  /** One that has come is answered. */
  const cutOff = (): boolean => {
    if (response.req.complete || response.destroyed) return false
    response.destroy()
    return true
  }
  try {
    const giveBack = once(await bodies.take(bytes, { signal: waiting.signal, caller, cutOff }))
    heldUntilClosed(response, giveBack)
    return giveBack
  } finally {
    clearTimeout(timer)
    response.off('close', leave)
  }
}

/** Of a body; the most that it may be where its length is not said. What says that it is longer is refused unread. */
const announcedBytes = (headers: IncomingHttpHeaders): number => {
  if (headers['transfer-encoding'] !== undefined) return MAX_BODY_BYTES
  const length = Number(headers['content-length'] ?? 0) || 0
  return length > MAX_BODY_BYTES ? 0 : length
}
