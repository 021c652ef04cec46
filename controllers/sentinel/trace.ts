/** W3C Trace Context: every pulse begins a trace that the API passes on with its event and adapters carry to their report. */
import { randomFillSync } from 'node:crypto'

/** A new `traceparent` header of a sampled trace. https://www.w3.org/TR/trace-context/#traceparent-header */
export const newTraceparent = (random: (bytes: Buffer) => Buffer = randomFillSync): string => {
  const bytes = random(Buffer.alloc(24))
  return `00-${bytes.toString('hex', 0, 16)}-${bytes.toString('hex', 16)}-01`
}

/** The trace id of a `traceparent`, for logs. */
export const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35)
