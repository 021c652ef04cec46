import { once } from '#lib/once.ts'

/** How many streams each caller has open. */
export interface StreamLimit {
  /** @returns how to give the place back, or undefined when all are taken */
  open(name: string): (() => void) | undefined
}

export const createStreamLimit = (max: number): StreamLimit => {
  const opened = new Map<string, number>()
  return {
    open: (name) => {
      const now = opened.get(name) ?? 0
      if (now >= max) return undefined
      opened.set(name, now + 1)
      return once(() => {
        const left = (opened.get(name) ?? 1) - 1
        if (left > 0) opened.set(name, left)
        else opened.delete(name)
      })
    },
  }
}
