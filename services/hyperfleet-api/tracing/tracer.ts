import type { Database } from '../storage/database.ts'

/** Writes down what a request is made of, and how long each part takes. */
export interface Tracer {
  /** Runs work as a span below the one that runs now; an error that it throws ends the span as failed. */
  span<T>(description: SpanDescription, work: (span: Span) => Promise<T>): Promise<T>
  /** Sends what is left. */
  close(): Promise<void>
}

export interface SpanDescription {
  readonly name: string
  readonly kind: 'server' | 'internal' | 'producer'
  readonly attributes?: Attributes
  /** `traceparent` of the caller, when the span begins our part of a trace. */
  readonly parent?: string | undefined
}

export type Attributes = Readonly<Record<string, string | number>>

export interface Span {
  /** To hand on; undefined when nothing is traced. */
  readonly traceparent: string | undefined
  set(attributes: Attributes): void
}

const NO_SPAN: Span = { traceparent: undefined, set: () => {} }

/** Traces nothing, and costs nothing. */
export const noTracer: Tracer = { span: (_description, work) => work(NO_SPAN), close: async () => {} }

/** A database whose transactions are spans. */
export const withTracing = (database: Database, tracer: Tracer): Database =>
  tracer === noTracer
    ? database
    : {
        ...database,
        transaction: (work) =>
          tracer.span(
            { name: 'transaction', kind: 'internal', attributes: { 'db.system.name': systemOf(database) } },
            () => database.transaction(work),
          ),
      }

/** OpenTelemetry semantic conventions, db.system.name. */
const systemOf = ({ dialect }: Database): string => (dialect === 'postgres' ? 'postgresql' : 'sqlite')
