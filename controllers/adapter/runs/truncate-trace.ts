import type { Trace } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Json } from '../task/task.ts'

/** Characters of a trace as JSON, and of a value in one that is larger. */
const MAX_TRACE_CHARS = 32_768
const MAX_VALUE_CHARS = 1_000
/** Steps of one phase. */
const MAX_STEPS = 100

/** A trace that can be kept: the values in a large one are cut, its outcome never. */
export const truncateTrace = (trace: Trace): Trace => {
  if (JSON.stringify(trace).length <= MAX_TRACE_CHARS) return trace
  const { report, ...rest } = trace
  return {
    ...rest,
    event: truncateValue(trace.event),
    failures: trace.failures
      .slice(0, MAX_STEPS)
      .map((failure) => ({ ...failure, message: truncateText(failure.message) })),
    params: trace.params.slice(0, MAX_STEPS).map(({ name, value }) => ({ name, value: value && truncateValue(value) })),
    preconditions: trace.preconditions.slice(0, MAX_STEPS).map(({ captured, ...one }) => ({
      ...one,
      ...(captured && { captured: { shortened: truncateValue(captured) } }),
    })),
    resources: trace.resources.slice(0, MAX_STEPS).map(({ message, ...one }) => ({
      ...one,
      ...(message && { message: truncateText(message) }),
    })),
    payloads: trace.payloads.slice(0, MAX_STEPS).map(({ name, skipped, value }) => ({
      name,
      skipped,
      ...(value !== undefined && { value: truncateValue(value) }),
    })),
    actions: trace.actions.slice(0, MAX_STEPS),
    requests: trace.requests.slice(0, MAX_STEPS),
    ...(report !== undefined && { report: truncateValue(report) }),
  }
}

/** What is too large is the beginning of its text. */
const truncateValue = (value: Json): Json => {
  const text = JSON.stringify(value)
  return text.length <= MAX_VALUE_CHARS ? value : `${text.slice(0, MAX_VALUE_CHARS)}…`
}

const truncateText = (text: string): string =>
  text.length <= MAX_VALUE_CHARS ? text : `${text.slice(0, MAX_VALUE_CHARS)}…`
