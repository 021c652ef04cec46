/**
 * A process that outlives us and removes a container: testcontainers has an image for that, which can't be pulled everywhere.
 * It learns of our end by the end of its standard input.
 */
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'

/** Removes this container of the engine that testcontainers finds when we end. @returns what to call when it is gone already */
export const removeWhenWeEnd = (id: string): (() => void) => {
  const watcher = spawn(process.execPath, [import.meta.filename, id], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  const input = watcher.stdin as Socket
  input.unref()
  input.on('error', () => undefined)
  return () => void watcher.kill('SIGKILL')
}

if (import.meta.main) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  await text(process.stdin)
  const { removeContainer } = await import('./ended.ts')
  // An engine that went with us has taken it along.
  await removeContainer(process.argv[2] as string).catch(() => undefined)
}
