import type { Duration } from '#operator/model/duration.ts'

/** Of Go's units (time.ParseDuration), in milliseconds. */
const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}
const PART = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g

/** Milliseconds of a span that the CRD let pass: Hive's manifests also hold units below a millisecond. */
export const spanOf = (span: Duration): number =>
  typeof span === 'number'
    ? span
    : [...span.matchAll(PART)].reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNITS[unit] ?? 0), 0)
