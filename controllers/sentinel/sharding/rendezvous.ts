/**
 * Which slot of a divided shard owns a resource: rendezvous hashing, so that one more slot takes its own share
 * from the others and moves nothing else (SENTINEL-33).
 */

/** The slot with the highest score for the id owns it; undefined when there is no slot. */
export const slotOf = (id: string, slots: Iterable<number>): number | undefined => {
  const seed = hash(id)
  let owner: number | undefined
  let highest = -1
  for (const slot of slots) {
    const score = mix(seed ^ mix(slot + 1))
    if (score > highest || (score === highest && owner !== undefined && slot < owner)) {
      owner = slot
      highest = score
    }
  }
  return owner
}

/** Slots 0 … shards-1. */
export const slotNumbers = (shards: number): number[] => Array.from({ length: shards }, (_, slot) => slot)

/** FNV-1a of the text's UTF-16 units, 32 bits, signed. */
export const hash = (text: string): number => {
  let state = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    state ^= text.charCodeAt(index)
    state = Math.imul(state, 0x01000193)
  }
  return state
}

/** MurmurHash3's finalizer: spreads every input bit over all 32. */
const mix = (value: number): number => {
  let state = value
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35)
  return (state ^ (state >>> 16)) >>> 0
}
