/** What happened when, for finding out why. */
export interface Timeline {
  /** Remembers it with the present time. */
  note(what: string): void
  /** A line each, with the seconds since the beginning. */
  lines(): readonly string[]
}

/** @param now milliseconds since the epoch */
export const timelineFrom = (now: () => number = Date.now): Timeline => {
  const begin = now()
  const notes: { readonly at: number; readonly what: string }[] = []
  return {
    note: (what) => void notes.push({ at: now(), what }),
    lines: () => notes.map(({ at, what }) => `${((at - begin) / 1_000).toFixed(1).padStart(7)} s  ${what}`),
  }
}
