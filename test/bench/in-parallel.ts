/** Works through the items with at most `inFlight` under way; results in the items' order. */
export const inParallel = async <T, R>(
  items: readonly T[],
  inFlight: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> => {
  const results: R[] = []
  const queue = items.entries()
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  return results
}

/** 0 to `count`-1. */
export const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)
