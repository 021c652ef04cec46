import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { signalGroup } from '../../process/child.ts'
import { forgetGroup, guardGroup } from '../../process/reaper.ts'
import type { Trial } from './worker.ts'

/** Milliseconds; a mutant whose loop has no end is noticed by that. */
const PATIENCE_MS = 60_000

/** A vitest in a copy of the checkout, which is replaced when it hangs. */
export interface Tester extends Disposable {
  /** Whether these tests pass, now that a module has changed. */
  passes(trial: Trial): Promise<boolean>
  /** Runs them once with the module as it is. @throws Error when they fail then */
  checkUnchanged(module: string, tests: string): Promise<void>
}

/** @param folder the copy */
export const startTester = (folder: string): Tester => {
  const unchanged = new Set<string>()
  let worker = startWorker(folder)
  const answerTo = async (trial: Trial): Promise<string> => {
    const timer = setTimeout(worker.kill, PATIENCE_MS)
    const answer = await worker.ask(trial)
    clearTimeout(timer)
    if (answer === undefined) worker = startWorker(folder)
    return answer ?? 'it did not end'
  }
  return {
    passes: async (trial) => (await answerTo(trial)) === 'pass',
    checkUnchanged: async (module, tests) => {
      if (unchanged.has(tests)) return
      const answer = await answerTo({ changed: module, tests })
      if (answer !== 'pass') throw new Error(`${tests} fails without any mutant: ${answer}`)
      unchanged.add(tests)
    },
    [Symbol.dispose]: () => worker.kill(),
  }
}

const startWorker = (folder: string) => {
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    [join(import.meta.dirname, 'worker.ts')],
    { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'], detached: true },
  )
  const group = child.pid as number
  guardGroup(group)
  child.once('exit', () => forgetGroup(group))
  child.stdin.on('error', () => undefined)
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    kill: () => signalGroup(group, 'SIGKILL'),
    /** Undefined when it ended instead. */
    ask: async (trial: Trial): Promise<string | undefined> => {
      child.stdin.write(`${JSON.stringify(trial)}\n`)
      return (await answers.next()).value
    },
  }
}
