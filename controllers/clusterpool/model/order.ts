/** Orders that are total: whatever the order in which objects were read, every pass sees the same one. */

interface Aged {
  readonly createdAt: number
  readonly namespace?: string | undefined
  readonly name: string
}

/** By UTF-16 units: the same on every machine, whatever its language. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

/** Oldest first; names decide among objects of one second. */
export const byAge = (a: Aged, b: Aged): number => a.createdAt - b.createdAt || byPlace(a, b)

/** Newest first; names decide among objects of one second. */
export const byNewest = (a: Aged, b: Aged): number => b.createdAt - a.createdAt || byPlace(a, b)

const byPlace = (a: Aged, b: Aged): number =>
  compareText(a.namespace ?? '', b.namespace ?? '') || compareText(a.name, b.name)
