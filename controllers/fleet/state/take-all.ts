/** What is in the set, which is empty afterwards. */
export const takeAll = <T>(set: Set<T>): T[] => {
  const all = [...set]
  set.clear()
  return all
}
