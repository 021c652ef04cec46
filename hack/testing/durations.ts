import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheFolder } from '../cache/folder.ts'

/** How long each test file took the last time, in seconds, by its path in the repository. */
export type Durations = Readonly<Record<string, number>>

const remembered = (): string => join(cacheFolder(), 'tests', 'durations.json')

/** What earlier runs on this machine took; nothing when there was none. */
export const readDurations = (file = remembered()): Durations => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Durations
  } catch {
    // Missing, or not ours to read: it only orders files and guesses the time left.
    return {}
  }
}

/** Adds what a run took to what is remembered. */
export const writeDurations = (durations: Durations, file = remembered()): void => {
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, JSON.stringify({ ...readDurations(file), ...durations }, undefined, 1))
  renameSync(draft, file)
}

/** Whole suites of processes: minutes each. */
const SUITES = /^test\/(e2e|integration\/docs)\//

/** How long a file will take, in seconds: what it took the last time, else what files of its kind take. */
export const expectedSeconds = (file: string, durations: Durations): number =>
  durations[file] ?? (SUITES.test(file) ? 60 : /^test\/(integration|conformance)\//.test(file) ? 15 : 0.5)
