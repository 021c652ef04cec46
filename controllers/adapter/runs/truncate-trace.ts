import type { Trace } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Json } from '../task/task.ts'

/** Characters of a trace as JSON, and of a value in one that is larger. */
const LARGEST = 32_768
const LARGEST_VALUE = 1_000
/** Steps of one phase. */
const MOST = 100

/** A trace that can be kept: the values in a large one are cut, its outcome never. */
export const shortened = (trace: Trace): Trace => {
  if (JSON.stringify(trace).length <= LARGEST) return trace
  const { report, ...rest } = trace
  return {
    ...rest,
    event: cut(trace.event),
    failures: trace.failures.slice(0, MOST).map((failure) => ({ ...failure, message: cutText(failure.message) })),
    params: trace.params.slice(0, MOST).map(({ name, value }) => ({ name, value: value && cut(value) })),
    preconditions: trace.preconditions.slice(0, MOST).map(({ captured, ...one }) => ({
      ...one,
      ...(captured && { captured: { shortened: cut(captured) } }),
    })),
    resources: trace.resources.slice(0, MOST).map(({ message, ...one }) => ({
      ...one,
      ...(message && { message: cutText(message) }),
    })),
    payloads: trace.payloads.slice(0, MOST).map(({ name, skipped, value }) => ({
      name,
      skipped,
      ...(value !== undefined && { value: cut(value) }),
    })),
    actions: trace.actions.slice(0, MOST),
    requests: trace.requests.slice(0, MOST),
    ...(report !== undefined && { report: cut(report) }),
  }
}

/** What is too large is the beginning of its text. */
const cut = (value: Json): Json => {
  const text = JSON.stringify(value)
  return text.length <= LARGEST_VALUE ? value : `${text.slice(0, LARGEST_VALUE)}…`
}

const cutText = (text: string): string => (text.length <= LARGEST_VALUE ? text : `${text.slice(0, LARGEST_VALUE)}…`)
