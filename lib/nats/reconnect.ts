/**
 * How a NATS client waits before it connects again. The client's own wait ends by the time of day: where a clock was set back by a day while
 * NATS was away, it would not connect for a day. AGENT-41, API-37.
 */
import type { ConnectionOptions } from '@nats-io/transport-node'

/** In place of `reconnectTimeWait`. @param delayMs at least so long, and up to twice as long, so that many clients don't come at once */
export const reconnectAfter = (
  delayMs: number,
): Pick<ConnectionOptions, 'reconnectDelayHandler' | 'reconnectToServer'> => ({
  // Whatever the clock says, it is over: the wait is that of the next handler, which is a timer.
  reconnectDelayHandler: () => Number.NEGATIVE_INFINITY,
  reconnectToServer: ([next]) =>
    next === undefined ? null : { server: next, delay: next.lastConnect === 0 ? 0 : delayMs * (1 + Math.random()) },
})
