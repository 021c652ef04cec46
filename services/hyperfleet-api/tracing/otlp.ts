import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from '#operator/model/log.ts'
import { formatTraceparent, parseTraceparent } from './traceparent.ts'
import type { Tracer } from './tracer.ts'

/** Milliseconds that an ending API waits for the collector to take the last spans. */
const FLUSH_TIMEOUT_MS = 2_000

const KINDS = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL, producer: SpanKind.PRODUCER } as const

/**
 * Sends spans to an OpenTelemetry collector by OTLP over HTTP. Loaded only where it is used: it is a few MB.
 * @param endpoint base URL; `/v1/traces` is added. OpenTelemetry's other variables (headers, sampler) hold too.
 */
export const createTracer = (endpoint: string, version: string, log: Logger): Tracer => {
  const warn = (error: string) => log.warn('spans are lost, the collector does not take them', { endpoint, error })
  const silent = () => {}
  diag.setLogger(
    { error: warn, warn, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'hyperfleet-api', 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
  const tracer = provider.getTracer('muster', version)
  const running = new AsyncLocalStorage<Context>()
  return {
    span: async ({ name, kind, attributes = {}, parent }, work) => {
      const context = contextOf(parent) ?? running.getStore() ?? ROOT_CONTEXT
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, context)
      const { traceId, spanId, traceFlags } = span.spanContext()
      const traceparent = formatTraceparent({ traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 })
      try {
        const set = (more: typeof attributes) => {
          span.setAttributes(more)
        }
        const handle = { traceparent, set }
        return await running.run(trace.setSpan(context, span), () => work(handle))
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR })
        throw error
      } finally {
        span.end()
      }
    },
    close: async () => {
      const flushed = provider.shutdown().catch((error: Error) => warn(error.message))
      const waiting = new AbortController()
      await Promise.race([flushed, delay(FLUSH_TIMEOUT_MS, undefined, { signal: waiting.signal }).catch(silent)])
      waiting.abort()
    },
  }
}

const contextOf = (traceparent: string | undefined): Context | undefined => {
  const place = parseTraceparent(traceparent)
  if (place === undefined) return undefined
  const { traceId, spanId, isSampled } = place
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}
