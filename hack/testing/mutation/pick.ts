/** So many of a list, spread over all of it, the same for the same seed. */
export const pick = <T>(list: readonly T[], count: number, seed: number): readonly T[] => {
  if (count >= list.length) return list
  const step = list.length / count
  // Of each span of the list one, wherever the seed says.
  return Array.from({ length: count }, (_, span) => {
    const random = fraction(seed * 7919 + span)
    return list[Math.floor((span + random) * step)] as T
  })
}

/** From 0 up to 1, without any order in it: splitmix32. */
const fraction = (seed: number): number => {
  let bits = (seed + 0x9e3779b9) | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad)
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97)
  return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32
}
