import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Room } from '../storage/room.ts'
import { MAX_BODY_BYTES } from './limits.ts'
import { takeUntilClosed } from './take-until-closed.ts'

export interface BodyRoomOptions {
  readonly bodies: Room
  /** Tells callers apart. */
  readonly caller: string
  /** Milliseconds to wait for room: less than the caller has to send the request. */
  readonly patience: number
}

/**
 * Takes room for the body that a request announces, until its answer is sent (API-161); while others wait, one that comes slowly, or whose answer is not
 * taken, is cut off (API-204).
 * @returns how to give it back before @throws Problem when there is none for a while, or the caller is gone
 */
export const takeBodyRoom = async (
  headers: IncomingHttpHeaders,
  response: ServerResponse,
  { bodies, caller, patience }: BodyRoomOptions,
): Promise<() => void> => {
  const bytes = announcedBytes(headers)
  if (bytes === 0) return () => {}
  /** While one that has come is worked on, its caller keeps nothing. */
  const isWorkedOn = () => response.req.complete && !response.writableEnded
  const full = 'bodies of other requests take all the room that there is'
  return takeUntilClosed(bytes, response, { room: bodies, caller, patience, isWorkedOn, full })
}

/** Of a body; the most that it may be where its length is not said. What says that it is longer is refused unread. */
const announcedBytes = (headers: IncomingHttpHeaders): number => {
  if (headers['transfer-encoding'] !== undefined) return MAX_BODY_BYTES
  const length = Number(headers['content-length'] ?? 0) || 0
  return length > MAX_BODY_BYTES ? 0 : length
}
