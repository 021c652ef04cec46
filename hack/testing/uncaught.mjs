// Loaded into every Node.js process that tests start (NODE_OPTIONS, test/harness/global.ts): writes down which of them ended by an
// error that no code handled, a rejected promise above all, into the folder that its own URL names. What starts such a process again would hide it.
// Plain JavaScript on purpose: a test may start any Node.js that the machine has.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = new URL(import.meta.url).searchParams.get('folder')

process.on('uncaughtExceptionMonitor', (error) => {
  if (folder === null) return
  try {
    appendFileSync(join(folder, String(process.pid)), `${process.argv.join(' ')}\n${error?.stack ?? error}\n`)
  } catch {
    // The run has ended and taken its folder along.
  }
})
