import type { ReconcileEvent } from '../model/cloudevent.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Consumer } from './consumers.ts'
import type { DeadLetter } from './dead-letters.ts'

/**
 * Brings stored events to consumer groups, at least once (API-34 to API-37): a claim hides an event from the others of the group for a
 * while, an acknowledgement removes it, and what is neither acknowledged nor extended in time is delivered again.
 *
 *   POST /events ─► events + one event_deliveries row a group that wants it, in one transaction
 *                     ├─ DatabaseQueue: claims look for visible rows
 *                     └─ JetStreamQueue: rows are relayed as messages; claims pull messages and hold their rows
 *
 * In both the row is the truth: a delivery lives as long as its row, and a receipt is good as long as the row names it.
 * JetStream only says which row is next and when. `test/conformance/event-queue.test.ts` holds both to the same rules.
 */
export interface EventQueue {
  /** Makes or changes a group. A new one gets what is posted from then on. @returns whether it is new */
  putConsumer(consumer: Consumer, time: Timestamp): Promise<boolean>
  /** Forgets a group and what it has not acknowledged. @throws Problem notFound */
  deleteConsumer(name: string): Promise<void>
  /**
   * Takes events in the order in which they were posted, waiting for the first.
   * @param signal ends the waiting early @throws Problem notFound | unavailable
   */
  receive(request: ReceiveRequest, signal: AbortSignal): Promise<ReceivedEvent[]>
  /** Done: the event is not delivered to this group again. @throws Problem notFound | staleReceipt */
  acknowledge(consumer: string, receipt: string): Promise<void>
  /** Hides the event for so many milliseconds from now; 0 gives it back at once. @throws Problem notFound | staleReceipt */
  extend(consumer: string, receipt: string, visibility: number): Promise<void>
  /** Gives the event back at once, as if it had not been delivered: it was not worked on to the end. @throws Problem notFound | staleReceipt */
  release(consumer: string, receipt: string): Promise<void>
  /** Gives the event up for this group: it is a dead letter at once. @throws Problem notFound | staleReceipt */
  reject(consumer: string, receipt: string): Promise<void>
  /** The oldest events that were delivered too often, or given up. @throws Problem notFound */
  deadLetters(consumer: string, limit: number): Promise<DeadLetter[]>
  /** Delivers a dead letter again, counting from one. @throws Problem notFound */
  replay(consumer: string, eventId: string): Promise<void>
  /** Notes events about this resource that consumers have taken without the API knowing, before equal ones are posted. */
  recordTaken(resourceId: string, reason: string): Promise<void>
  /** Consumers can acknowledge without the API knowing. */
  readonly isAcknowledgedElsewhere: boolean
  /** Notes what consumers have taken and acknowledged without the API knowing, before it is decided what a deletion waits for. */
  recordProgress(): Promise<void>
  /** Why events are not delivered at present, in a sentence; undefined when they are. */
  readonly unavailableReason: string | undefined
  close(): Promise<void>
}

export interface ReceiveRequest {
  readonly consumer: string
  readonly max: number
  /** Milliseconds to wait for the first event; 0 to look once. */
  readonly wait: number
  /** Milliseconds during which no other worker gets the events. */
  readonly visibility: number
}

export interface ReceivedEvent {
  /** Good until the visibility ends; acknowledges or extends this delivery and no other. */
  readonly receipt: string
  /** How often this event was delivered to the group and not released, this time included; a replay counts from one again. */
  readonly deliveries: number
  readonly event: ReconcileEvent
}
