/** A binary heap whose items know their place, so that one can be moved or taken out in O(log n). */

export interface HeapItem {
  /** The key: the least comes first. */
  at: number
  /** Place in the heap, -1 outside; the heap alone writes it. */
  place: number
}

export class Heap<T extends HeapItem> {
  readonly #items: T[] = []

  first(): T | undefined {
    return this.#items[0]
  }

  /** Puts an item in, or moves it after its key changed. */
  put(item: T): void {
    if (item.place === -1) {
      item.place = this.#items.length
      this.#items.push(item)
    }
    this.#sink(this.#rise(item))
  }

  /** Takes an item out; nothing happens when it is not in. */
  remove(item: T): void {
    if (item.place === -1) return
    const hole = item.place
    const last = this.#items.pop()
    item.place = -1
    if (last === undefined || last === item) return
    this.#set(last, hole)
    this.#sink(this.#rise(last))
  }

  /** Every item whose key is at most the limit, in no order; visits only those and their children. */
  *upTo(limit: number, from = 0): Iterable<T> {
    const item = this.#items[from]
    if (item === undefined || item.at > limit) return
    yield item
    yield* this.upTo(limit, 2 * from + 1)
    yield* this.upTo(limit, 2 * from + 2)
  }

  #rise(item: T): T {
    while (item.place > 0) {
      const parent = this.#items[(item.place - 1) >> 1]
      if (parent === undefined || parent.at <= item.at) break
      this.#swap(item, parent)
    }
    return item
  }

  #sink(item: T): void {
    for (;;) {
      const left = this.#items[2 * item.place + 1]
      const right = this.#items[2 * item.place + 2]
      const least = right !== undefined && left !== undefined && right.at < left.at ? right : left
      if (least === undefined || least.at >= item.at) return
      this.#swap(item, least)
    }
  }

  #swap(a: T, b: T): void {
    const place = a.place
    this.#set(a, b.place)
    this.#set(b, place)
  }

  #set(item: T, place: number): void {
    item.place = place
    this.#items[place] = item
  }
}
