/** How long commits take: to what the API server has, and to what is wanted. Told at the end, never asserted. */

/** One commit. */
interface Times {
  readonly what: string
  /** Milliseconds from the commit until the API server had what it says. */
  readonly applied: number
  /** Milliseconds from the commit until its Application was Synced and Healthy. */
  readonly ready: number
}

export interface Stopwatch {
  /** Measures one commit. @param applied resolves when the API server has it. @param ready when it is as wanted */
  measure(what: string, applied: () => Promise<unknown>, ready: () => Promise<unknown>): Promise<void>
  /** A table, as docs/gitops-operate.md has it. */
  table(): string
}

export const stopwatch = (): Stopwatch => {
  const measured: Times[] = []
  return {
    measure: async (what, applied, ready) => {
      const began = performance.now()
      await applied()
      const half = performance.now()
      await ready()
      measured.push({ what, applied: half - began, ready: performance.now() - began })
    },
    table: () =>
      [
        '| commit | applied after | Healthy after |',
        '|---|---|---|',
        ...measured.map(({ what, applied, ready }) => `| ${what} | ${seconds(applied)} | ${seconds(ready)} |`),
      ].join('\n'),
  }
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`
