import type { ServerResponse } from 'node:http'
import { once } from '#lib/once.ts'
import { Problem } from '../problems/problem.ts'
import { tooManyRequests } from '../problems/too-many-requests.ts'
import type { Room } from '../storage/room.ts'
import { heldUntilClosed } from './held-until-closed.ts'

const never = new AbortController().signal

export interface RequestRoomOptions {
  readonly room: Room
  /** Tells callers apart. */
  readonly caller: string
  /** Milliseconds to wait for room. */
  readonly patience: number
  /** Whether the request waits for this server, and not for its caller. */
  readonly isWorkedOn: () => boolean
  /** What a caller is told that waits in vain. */
  readonly full: string
}

/**
 * Takes room for a request, until its answer is sent or its connection is gone.
 * @returns how to give it back before @throws Problem when there is none for a while, or the caller is gone
 */
export const takeUntilClosed = async (
  bytes: number,
  response: ServerResponse,
  { room, caller, patience, isWorkedOn, full }: RequestRoomOptions,
): Promise<() => void> => {
  const cutOff = () => cutOffUnless(isWorkedOn, response)
  // Most requests: nothing of what waiting takes is made for them.
  const free = room.takeIfFree(bytes, { signal: never, caller, cutOff })
  if (free !== undefined) return keepUntilClosed(response, free)
  const waiting = new AbortController()
  const leave = () => waiting.abort(new Problem('tooSlow', 'the connection was closed before the request was read'))
  const timer = setTimeout(() => waiting.abort(tooManyRequests(full, 1)), patience)
  heldUntilClosed(response, leave)
  try {
    return keepUntilClosed(response, await room.take(bytes, { signal: waiting.signal, caller, cutOff }))
  } finally {
    clearTimeout(timer)
    response.off('close', leave)
  }
}

const keepUntilClosed = (response: ServerResponse, room: () => void): (() => void) => {
  const giveBack = once(room)
  heldUntilClosed(response, giveBack)
  return giveBack
}

/** Ends the connection of an answer whose caller is what it waits for. @returns whether it did */
export const cutOffUnless = (isWorkedOn: () => boolean, response: ServerResponse): boolean => {
  if (isWorkedOn() || response.destroyed) return false
  response.destroy()
  return true
}
