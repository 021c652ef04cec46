import { messageOf } from '#lib/errors/message-of.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Broker } from './broker.ts'
import type { MessageOutcome } from './lock-pulled.ts'

const ACKNOWLEDGE = '+ACK'
const NANOSECONDS_PER_MILLISECOND = 1_000_000

/** Tells JetStream what became of messages. A word that gets lost makes it deliver again, and the row knows better. */
export class Replies {
  readonly #broker: Broker
  readonly #log: Logger
  /** What could not be told while NATS was away, by reply subject: a claim given back then would stay hidden to its end. */
  readonly #pending = new Map<string, string>()

  constructor(broker: Broker, log: Logger) {
    this.#broker = broker
    this.#log = log
    broker.onConnected(() => {
      const words = [...this.#pending]
      this.#pending.clear()
      for (const [reply, word] of words) this.#send(reply, word)
    })
  }

  /** @param reply the message's subject; null when there is no message */
  acknowledge(reply: string | null): void {
    this.#send(reply, ACKNOWLEDGE)
  }

  /** Has it delivered again after so many milliseconds. */
  hide(reply: string | null, milliseconds: number): void {
    this.#send(reply, nakWithDelay(milliseconds))
  }

  /** @param visibility of what was received, in milliseconds */
  answer(outcome: MessageOutcome, visibility: number): void {
    if (outcome.type === 'finished') this.acknowledge(outcome.reply)
    else this.hide(outcome.reply, outcome.type === 'received' ? visibility : outcome.milliseconds)
  }

  #send(reply: string | null, word: string): void {
    if (reply === null) return
    try {
      this.#broker.connected().connection.publish(reply, word)
    } catch (error) {
      this.#pending.set(reply, word)
      this.#log.debug('jetstream: NATS is away, it is told about a delivery when it is back', {
        error: messageOf(error),
      })
    }
  }
}

/** JetStream takes a delay of zero for the group's whole acknowledgement time. */
const nakWithDelay = (milliseconds: number): string =>
  milliseconds <= 0
    ? '-NAK'
    : `-NAK ${JSON.stringify({ delay: Math.ceil(milliseconds) * NANOSECONDS_PER_MILLISECOND })}`
