import { AbortScope } from '#lib/abort/abort-scope.ts'

/** Runs tasks as one: when the first ends or fails, the others are told to end, and all have ended when this does. @throws what the first one threw */
export const runUntilFirstEnds = async (
  signal: AbortSignal,
  ...tasks: readonly ((signal: AbortSignal) => Promise<void>)[]
): Promise<void> => {
  const scope = new AbortScope(signal)
  const running = tasks.map((task) => task(scope.signal))
  try {
    await Promise.race(running)
  } finally {
    scope.abort()
    await Promise.allSettled(running)
  }
}
