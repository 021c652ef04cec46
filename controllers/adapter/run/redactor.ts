/**
 * Keeps what a run knows and nobody may read out of everything that people see of it: traces, reports' messages, events, logs.
 * What a task sends on purpose (manifests, payloads, headers) goes out as it is.
 */
import { Buffer } from 'node:buffer'
import { HIDDEN } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'

/** Shorter values stand in too many texts by chance; a param that holds one is hidden all the same. */
const SHORTEST = 4

export class Redactor {
  readonly #hidden = new Set<string>()
  /** The longest first: one value may be part of another one. */
  #sorted: readonly string[] | undefined

  /** @param values from the environment and from files */
  constructor(values: Iterable<string> = []) {
    for (const value of values) this.hide(value)
  }

  /** Also as it stands in JSON, in URLs and in the data of a Secret. */
  hide(value: string): void {
    const text = value.trim()
    if (text.length < SHORTEST) return
    const forms = [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]
    for (const form of [...forms, Buffer.from(value).toString('base64'), Buffer.from(text).toString('base64')])
      this.#hidden.add(form)
    this.#sorted = undefined
  }

  /** Every value of a Secret, also of one within a ManifestWork. */
  hideSecrets(object: unknown): void {
    if (Array.isArray(object)) for (const item of object) this.hideSecrets(item)
    if (typeof object !== 'object' || object === null) return
    const { kind, data, stringData, spec } = object as Record<string, unknown>
    if (kind === 'Secret') {
      for (const value of textsOf(data)) {
        this.hide(value)
        this.hide(Buffer.from(value, 'base64').toString())
      }
      for (const value of textsOf(stringData)) this.hide(value)
    }
    if (kind === 'ManifestWork') this.hideSecrets((spec as { workload?: { manifests?: unknown } })?.workload?.manifests)
  }

  text(text: string): string {
    this.#sorted ??= [...this.#hidden].toSorted((a, b) => b.length - a.length)
    return this.#sorted.reduce((shown, value) => shown.replaceAll(value, HIDDEN), text)
  }

  /** The same document with every text in it veiled. */
  document<T>(value: T): T {
    if (this.#hidden.size === 0) return value
    return this.#within(value) as T
  }

  #within(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (Array.isArray(value)) return value.map((item) => this.#within(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#within(item)]))
  }
}

const textsOf = (data: unknown): readonly string[] =>
  typeof data === 'object' && data !== null
    ? Object.values(data).filter((value): value is string => typeof value === 'string')
    : []
