/** Makes the consumers of devices, for servers whose devices have no JetStream of their own. NATS-8, NATS-9. */
import { JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream'
import type { Msg } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { CONSUMER_REQUESTS, deviceConsumer, readConsumerRequest } from '#apis/fleet.nationtech.io/kv/device-consumer.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { Connected } from '#lib/nats/connection.ts'
import { ignoreNotFound } from '#lib/nats/ignore-not-found.ts'
import { streamOf } from '#lib/nats/kv-subjects.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'

/** So many requests are taken, and none while they are answered: a device that floods the server with them reaches no further. */
const MOST_AT_ONCE = 64
/** Milliseconds for which they are enough. What is asked beyond is answered by the server, and asked again by agents. */
const ROUND_MS = 100

/** Of several operators one answers. */
const QUEUE = 'muster-fleet'

/** Until the signal aborts, or the connection is closed. @throws what ends the subscription */
export const serveDeviceConsumers = async (connected: Connected, clock: Clock, signal: AbortSignal): Promise<void> => {
  const { connection } = connected
  while (!signal.aborted && !connection.isClosed()) {
    const began = monotonic(clock)
    const requests = connection.subscribe(`${CONSUMER_REQUESTS}.>`, { queue: QUEUE, max: MOST_AT_ONCE })
    const stop = () => requests.unsubscribe()
    signal.addEventListener('abort', stop, { once: true })
    const answers: Promise<void>[] = []
    for await (const request of requests) answers.push(answer(connected, request))
    signal.removeEventListener('abort', stop)
    await Promise.all(answers)
    const left = ROUND_MS - (monotonic(clock) - began)
    if (left > 0) await clock.sleep(left, signal)
  }
}

/** As JetStream answers: nats-server, server/jetstream_api.go. */
const answer = async ({ connection, manager }: Connected, message: Msg): Promise<void> => {
  let response: object
  try {
    response = await respond(manager, message)
  } catch (error) {
    response =
      error instanceof JetStreamApiError
        ? { error: error.apiError() }
        : { error: { code: 503, err_code: 0, description: messageOf(error) } }
  }
  if (!connection.isClosed()) message.respond(JSON.stringify(response))
}

const respond = async ({ consumers }: JetStreamManager, message: Msg): Promise<object> => {
  const request = readConsumerRequest(message.subject, () => message.json())
  switch (request.verb) {
    case 'Delete':
      return { success: true }
    case 'Refuse':
      return { error: { code: 400, err_code: 0, description: request.problem } }
    case 'Create': {
      const { device, deliverSubject } = request
      const stream = streamOf(BUCKETS.desired.name)
      await consumers.delete(stream, device).catch(ignoreNotFound)
      return consumers.add(stream, deviceConsumer(device, device, deliverSubject))
    }
  }
}
