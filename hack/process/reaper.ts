import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

/**
 * A small shell process that outlives this one and cleans up after it, even after SIGKILL: nothing that a test or
 * `npm run up` started may stay behind. It learns of our end by the end of its standard input.
 */
let reaper: ChildProcess | undefined

const tell = (line: string): void => {
  if (reaper === undefined || reaper.exitCode !== null) {
    reaper = spawn('/bin/sh', [join(import.meta.dirname, 'reaper.sh')], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    reaper.unref()
    // It must not keep us alive, and an end of it must not end us.
    const input = reaper.stdin as (NodeJS.WritableStream & { unref(): void }) | null
    input?.unref()
    input?.on('error', () => undefined)
  }
  reaper.stdin?.write(`${line}\n`)
}

/** Kills this process group when we end without having stopped it. */
export const guardGroup = (group: number): void => tell(`guard ${group}`)

/** The group ended; its number may belong to somebody else from now on. */
export const forgetGroup = (group: number): void => tell(`forget ${group}`)

/** Removes this folder when we end. */
export const guardFolder = (folder: string): void => tell(`folder ${folder}`)

/** Removes this control group and those below it, in every hierarchy, when we end. @param name from the root of a hierarchy */
export const guardCgroup = (name: string): void => tell(`cgroup ${name}`)
