import type { ProgramCost } from './process-costs.ts'

/** What one test file took. */
export interface FileCost {
  readonly file: string
  /** From its begin to its end. */
  readonly seconds: number
  /** Of them, until its modules were loaded. */
  readonly loading: number
  /** Of its process, and of the processes that it started and that ended. Undefined when it never came to its end. */
  readonly cost: { readonly own: number; readonly children: number } | undefined
}

/** What a whole run took. */
export interface RunCost {
  readonly files: readonly FileCost[]
  readonly programs: readonly ProgramCost[]
  /** Core-seconds in which the machine's processors were busy. */
  readonly busy: number
  /** How many processors it has. */
  readonly cores: number
  /** From the first file's begin to the last one's end. */
  readonly seconds: number
}

const FILES = 30
const PROGRAMS = 15

const coreSecondsOf = ({ cost }: FileCost): number => (cost === undefined ? 0 : cost.own + cost.children)

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

const round = (seconds: number): string => seconds.toFixed(seconds < 10 ? 1 : 0)

/** The most expensive files and programs, and what files spent their time with, as lines for people. */
export const describeProfile = ({ files, programs, busy, cores, seconds }: RunCost): readonly string[] => {
  const known = files.filter(({ cost }) => cost !== undefined)
  const all = sum(known.map((file) => file.seconds))
  const loading = sum(known.map((file) => file.loading))
  // More cores than one may work for a file: then nothing was waited for.
  const waited = sum(known.map((file) => Math.max(0, file.seconds - coreSecondsOf(file))))
  const named = sum(programs.map(({ coreSeconds }) => coreSeconds))
  const others = Math.max(0, busy - named)
  return [
    `in ${round(seconds / 60)} minutes the machine was busy for ${round(busy / 60)} of ${round((cores * seconds) / 60)} core-minutes; of ${round(all)} s in ${known.length} files, ${round(loading)} s went by while modules were loaded, ${round(waited)} s without work of the file's own processes`,
    'core-seconds by program:',
    ...programs
      .filter(({ coreSeconds }) => coreSeconds >= 0.05)
      .slice(0, PROGRAMS)
      .map(
        ({ name, processes, coreSeconds }) =>
          `${round(coreSeconds).padStart(8)}  ${name}${processes > 1 ? ` (${processes} processes, ${round(coreSeconds / processes)} each)` : ''}`,
      ),
    `${round(others).padStart(8)}  programs that ended between two looks, and what is not ours`,
    `the ${Math.min(FILES, known.length)} most expensive files: core-seconds (of its process + of those it started), seconds`,
    ...known
      .toSorted((a, b) => coreSecondsOf(b) - coreSecondsOf(a))
      .slice(0, FILES)
      .map(
        (file) =>
          `${round(coreSecondsOf(file)).padStart(8)}  (${round(file.cost?.own ?? 0)} + ${round(file.cost?.children ?? 0)}), ${round(file.seconds)} s  ${file.file}`,
      ),
  ]
}
