import { Gauge, type Registry } from 'prom-client'
import type { LiveMessages } from '../feed/live-messages.ts'
import type { UnsentAnswers } from '../http/unsent-answers.ts'
import type { Room } from '../storage/room.ts'

/** What the API holds in memory for its callers, each within a bound of its own. */
export interface HeldBytes {
  /** Of long lists and of old changes. */
  readonly room: Room
  /** Of changes as they come. */
  readonly live: LiveMessages
  /** Of bodies of requests. */
  readonly bodies: Room
  /** Of answers that are sent as a whole. */
  readonly answers: UnsentAnswers
}

/** Shows how much of each is in use. */
export const measureHeldBytes = (registry: Registry, { room, live, bodies, answers }: HeldBytes): void => {
  const gauge = (name: string, help: string, bytesInUse: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(bytesInUse())
      },
    })
  gauge(
    'hyperfleet_api_stream_bytes',
    'Bytes of documents that long lists and streams have read and that their readers have not taken yet',
    () => room.bytesInUse,
  )
  gauge(
    'hyperfleet_api_live_bytes',
    'Bytes of changes that streams tell as they come and that their readers have not taken yet',
    () => live.bytesInUse,
  )
  gauge(
    'hyperfleet_api_body_bytes',
    'Bytes of bodies of requests under way, as their callers announce them',
    () => bodies.bytesInUse,
  )
  gauge(
    'hyperfleet_api_answer_bytes',
    'Bytes of answers above 16 KiB, other than streams and long lists, that are made or that their readers have not taken yet',
    () => answers.bytesInUse,
  )
}
