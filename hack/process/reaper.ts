import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

/**
 * A small shell process that outlives this one and cleans up after it, even after SIGKILL: nothing that a test or
 * `npm run up` started may stay behind. It learns of our end by the end of its standard input.
 */
let reaper: ChildProcess | undefined

/** What it has to know, for one that takes the place of a reaper that was killed. */
const guarded = new Set<string>()

const tell = (line: string): void => {
  reaper ??= startReaper()
  reaper.stdin?.write(`${line}\n`)
}

const startReaper = (): ChildProcess => {
  const started: ChildProcess = spawn('/bin/sh', [join(import.meta.dirname, 'reaper.sh')], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  started.unref()
  // It must not keep us alive, and an end of it must not end us.
  const input = started.stdin as (NodeJS.WritableStream & { unref(): void }) | null
  input?.unref()
  input?.on('error', () => undefined)
  started.once('exit', () => {
    reaper = undefined
    for (const line of guarded) tell(line)
  })
  return started
}

const guard = (line: string): void => {
  guarded.add(line)
  tell(line)
}

/** Kills this process group when we end without having stopped it. */
export const guardGroup = (group: number): void => guard(`guard ${group}`)

/** The group ended; its number may belong to another one from now on. */
export const forgetGroup = (group: number): void => {
  guarded.delete(`guard ${group}`)
  tell(`forget ${group}`)
}

/** Removes this folder when we end. */
export const guardFolder = (folder: string): void => {
  guard(`folder ${folder}`)
}

/** Removes this control group and those below it, in every hierarchy, when we end. @param name from the root of a hierarchy */
export const guardCgroup = (name: string): void => guard(`cgroup ${name}`)
