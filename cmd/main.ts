/** The program: runs a command, and ends with its exit code and at most one line of reason. */
import { constants } from 'node:os'
import { debuglog } from 'node:util'
import { exitCodeOf, reasonOf } from './failure.ts'
import { run } from './program.ts'

// As with `muster … | head`: the reader has what it wanted, and the shell is told as by any program that was cut off.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(128 + constants.signals.SIGPIPE)
})

try {
  await run(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`muster: ${reasonOf(error)}\n`)
  // NODE_DEBUG=muster shows where it came from.
  debuglog('muster')('%O', error)
  process.exitCode = exitCodeOf(error)
}
