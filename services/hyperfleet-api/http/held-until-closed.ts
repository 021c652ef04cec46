import type { ServerResponse } from 'node:http'

/** Gives back what a request holds when its answer is sent or its connection is gone, also where that was so before. */
export const heldUntilClosed = (response: ServerResponse, giveBack: () => void): void => {
  if (response.closed || response.destroyed) giveBack()
  else response.once('close', giveBack)
}
