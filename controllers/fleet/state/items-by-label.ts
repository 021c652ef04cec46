import type { NeededLabel } from '../selection/selection.ts'

const NONE: ReadonlySet<string> = new Set()

/** Names, found by labels. Each is under any number of labels, and under a value of one at most once. */
export class ItemsByLabel {
  readonly #items = new Map<string, Map<string, Set<string>>>()

  /** Under each of the values. */
  add(item: string, { key, values }: NeededLabel): void {
    const byValue = this.#items.get(key) ?? new Map<string, Set<string>>()
    this.#items.set(key, byValue)
    for (const value of values) byValue.set(value, (byValue.get(value) ?? new Set<string>()).add(item))
  }

  delete(item: string, { key, values }: NeededLabel): void {
    const byValue = this.#items.get(key)
    for (const value of values) {
      const items = byValue?.get(value)
      if (items?.delete(item) === true && items.size === 0) byValue?.delete(value)
    }
    if (byValue?.size === 0) this.#items.delete(key)
  }

  /** Whatever the value is. */
  forget(key: string): void {
    this.#items.delete(key)
  }

  /** Those with any of the values. */
  *of({ key, values }: NeededLabel): Iterable<string> {
    const byValue = this.#items.get(key)
    for (const value of values) yield* byValue?.get(value) ?? NONE
  }

  count({ key, values }: NeededLabel): number {
    const byValue = this.#items.get(key)
    return values.reduce((sum, value) => sum + (byValue?.get(value)?.size ?? 0), 0)
  }
}
