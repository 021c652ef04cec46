import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { signalGroup } from '#hack/process/child.ts'
import { forgetGroup, guardGroup } from '#hack/process/reaper.ts'

const REPOSITORY = join(import.meta.dirname, '../..')

export interface ProcessGroup {
  /** Everything it has printed so far. */
  output(): string
  /** The exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>
  /** Sends a signal as a terminal does: to all of the group. */
  interrupt(signal: NodeJS.Signals): void
}

/** Starts a command of this checkout in a process group like a terminal's, which ends with us. */
export const startProcessGroup = async (
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ProcessGroup> => {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const child = spawn(command, args, { cwd: REPOSITORY, env: { ...process.env, ...env }, stdio, detached: true })
  await once(child, 'spawn')
  const group = child.pid as number
  guardGroup(group)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const exited = once(child, 'close').then(([code]) => {
    forgetGroup(group)
    return code as number | null
  })
  return { output: () => output, exited, interrupt: (signal) => signalGroup(group, signal) }
}
