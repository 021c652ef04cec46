import { constants } from 'node:os'

const STOPPING = ['SIGTERM', 'SIGINT'] as const

/**
 * Aborts on the first SIGTERM or SIGINT, so that everything can stop in order; a second one ends the process at once.
 * The signal's reason is the signal's name.
 */
export const stopOnSignals = (): AbortSignal => {
  const controller = new AbortController()
  for (const name of STOPPING) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(128 + constants.signals[name])
      controller.abort(name)
    })
  }
  return controller.signal
}
