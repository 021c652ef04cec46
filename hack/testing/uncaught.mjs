// Loaded into every Node.js process that tests start (NODE_OPTIONS, test/harness/global.ts): writes down which of them had an error
// that no code handled, a rejected promise above all, into the folder that its own URL names. What starts such a process again would hide
// it, and so would a process that only logs it and goes on until a test kills it (lib/process/unhandled-rejections.ts).
// Plain JavaScript on purpose: a test may start any Node.js that the machine has.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = new URL(import.meta.url).searchParams.get('folder')

const note = (error) => {
  if (folder === null) return
  try {
    appendFileSync(join(folder, String(process.pid)), `${process.argv.join(' ')}\n${error?.stack ?? error}\n`)
  } catch {
    // The run has ended and taken its folder along.
  }
}

process.on('uncaughtExceptionMonitor', note)

// A listener of ours alone would keep the process from ending, so it comes with the first of the process's own.
process.on('newListener', function noteToo(event) {
  if (event !== 'unhandledRejection') return
  process.removeListener('newListener', noteToo)
  process.on('unhandledRejection', note)
})
