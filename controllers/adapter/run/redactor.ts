/**
 * Keeps secrets out of everything that people see of a run: traces, messages of reports, events, logs. ADAPTER-53.
 * What a task sends on purpose (manifests, payloads, headers) goes out as it is.
 */
import { Buffer } from 'node:buffer'
import { HIDDEN } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'

/** Shorter values stand in too many texts by chance; a param that holds one is hidden all the same. */
const MIN_SECRET_CHARS = 4

export class Redactor {
  readonly #secrets = new Set<string>()
  /** The longest first: one value may be part of another one. */
  #sorted: readonly string[] | undefined

  /** @param values from the environment and from files */
  constructor(values: Iterable<string> = []) {
    for (const value of values) this.addSecret(value)
  }

  /** Also as it stands in JSON, in URLs and in the data of a Secret. */
  addSecret(value: string): void {
    const text = value.trim()
    if (text.length < MIN_SECRET_CHARS) return
    const forms = [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]
    for (const form of [...forms, Buffer.from(value).toString('base64'), Buffer.from(text).toString('base64')])
      this.#secrets.add(form)
    this.#sorted = undefined
  }

  /** Every value of a Secret, also of one within a ManifestWork. */
  addSecretsIn(object: unknown): void {
    if (Array.isArray(object)) for (const item of object) this.addSecretsIn(item)
    if (typeof object !== 'object' || object === null) return
    const { kind, data, stringData, spec } = object as Record<string, unknown>
    if (kind === 'Secret') {
      for (const value of stringValues(data)) {
        this.addSecret(value)
        this.addSecret(Buffer.from(value, 'base64').toString())
      }
      for (const value of stringValues(stringData)) this.addSecret(value)
    }
    if (kind === 'ManifestWork')
      this.addSecretsIn((spec as { workload?: { manifests?: unknown } })?.workload?.manifests)
  }

  redactText(text: string): string {
    this.#sorted ??= [...this.#secrets].toSorted((a, b) => b.length - a.length)
    return this.#sorted.reduce((shown, value) => shown.replaceAll(value, HIDDEN), text)
  }

  /** The same document with every text in it redacted. */
  redactDocument<T>(value: T): T {
    if (this.#secrets.size === 0) return value
    return this.#redactWithin(value) as T
  }

  #redactWithin(value: unknown): unknown {
    if (typeof value === 'string') return this.redactText(value)
    if (Array.isArray(value)) return value.map((item) => this.#redactWithin(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#redactWithin(item)]))
  }
}

const stringValues = (data: unknown): readonly string[] =>
  typeof data === 'object' && data !== null
    ? Object.values(data).filter((value): value is string => typeof value === 'string')
    : []
