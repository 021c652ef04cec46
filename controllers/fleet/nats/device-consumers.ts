/** Makes the consumers of devices, for servers whose devices have no JetStream of their own. NATS-8, NATS-9, NATS-13. */
import { JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream'
import type { Msg } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import {
  CONSUMER_REQUESTS,
  deviceAsking,
  deviceConsumer,
  isAnswerSubject,
  readConsumerRequest,
} from '#apis/fleet.nationtech.io/kv/device-consumer.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { Connected } from '#lib/nats/connection.ts'
import { ignoreNotFound } from '#lib/nats/ignore-not-found.ts'
import { streamOf } from '#lib/nats/kv-subjects.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import { FairQueue } from './fair-queue.ts'

/** So many devices are served at once, and in a round. */
const MOST_AT_ONCE = 64
/** Milliseconds of a round, in which each device is served once at most. */
const ROUND_MS = 100
/** Devices that may wait. */
const MOST_WAITING = 16_384
/** Messages that the server hands over before we look: with the largest, half of what it holds back for a client before it cuts it off. */
const INTAKE = 256
/** Milliseconds between so many messages: a flood takes a part of our time, and what comes meanwhile is asked again by agents. */
const INTAKE_PAUSE_MS = 5
/** Bytes for which the pause is a millisecond longer. */
const INTAKE_BYTES_PER_MS = 100_000
/** Milliseconds; nothing is missed by it. */
const IDLE_MS = 60_000

/** Of several operators one answers. */
const QUEUE = 'muster-fleet'

/** Until the signal aborts, or the connection is closed. @throws what ends the subscription */
export const serveDeviceConsumers = async (connected: Connected, clock: Clock, signal: AbortSignal): Promise<void> => {
  const ending = new AbortController()
  const stop = () => ending.abort()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const queue = new FairQueue<Msg>(MOST_WAITING)
  const work = new WakeSignal(clock)
  try {
    const parts = [
      takeRequests(connected, queue, work, clock, ending.signal).finally(stop),
      serveInTurn(connected, queue, work, clock, ending.signal),
    ]
    await Promise.all(parts)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Takes in what devices ask, as cheaply as it goes: most of a flood is dropped here. */
const takeRequests = async (
  connected: Connected,
  queue: FairQueue<Msg>,
  work: WakeSignal,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> => {
  const { connection } = connected
  while (!signal.aborted && !connection.isClosed()) {
    const requests = connection.subscribe(`${CONSUMER_REQUESTS}.>`, { queue: QUEUE, max: INTAKE })
    const stop = () => requests.unsubscribe()
    signal.addEventListener('abort', stop, { once: true })
    let bytes = 0
    for await (const request of requests) {
      bytes += request.data.length
      const device = deviceAsking(request.subject)
      if (device === undefined) await answer(connected, request)
      else {
        queue.offer(device, request)
        work.wake()
      }
    }
    signal.removeEventListener('abort', stop)
    await clock.sleep(INTAKE_PAUSE_MS + bytes / INTAKE_BYTES_PER_MS, signal)
  }
}

/** Round by round, the device that waits longest first. */
const serveInTurn = async (
  connected: Connected,
  queue: FairQueue<Msg>,
  work: WakeSignal,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> => {
  const answers = new Set<Promise<void>>()
  while (!signal.aborted) {
    const began = monotonic(clock)
    for (const [device, request] of queue.take(MOST_AT_ONCE - queue.running)) {
      const answered = answer(connected, request).finally(() => {
        queue.done(device)
        answers.delete(answered)
      })
      answers.add(answered)
    }
    await clock.sleep(Math.max(0, ROUND_MS - (monotonic(clock) - began)), signal)
    if (queue.waiting === 0) await work.wait(IDLE_MS, signal)
  }
  await Promise.all(answers)
}

/** As JetStream answers: nats-server, server/jetstream_api.go. Never throws. */
const answer = async ({ connection, manager }: Connected, message: Msg): Promise<void> => {
  if (!isAnswerSubject(message.reply)) return
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
