// Runs a TypeScript file of this repository on the Node.js that the lockfile brings, whatever Node.js the machine has.
// Plain JavaScript on purpose: this is the one file that has to work before anything is installed, on Node.js 20.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules', '.muster-lock')
const node = join(root, 'node_modules', '.bin', 'node')

/** Installs the locked dependencies when they are missing or the lockfile has changed since. */
function install() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  process.stderr.write('Installing dependencies (npm ci) …\n')
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (npm.status !== 0) {
    process.stderr.write(
      `npm ci failed (exit ${npm.status ?? npm.signal ?? npm.error?.message}). Its output is above; mend that and run the command again.\n`,
    )
    process.exit(1)
  }
  if (!existsSync(node)) {
    process.stderr.write(
      `No Node.js 24 is packaged for ${process.platform}-${process.arch}: install Node.js 24 and run "node ${process.argv.slice(2).join(' ')}".\n`,
    )
    process.exit(1)
  }
  writeFileSync(stamp, lock)
}

const [script, ...args] = process.argv.slice(2)
install()
const child = spawn(node, ['--disable-warning=ExperimentalWarning', join(root, script), ...args], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
