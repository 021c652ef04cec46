// Runs a TypeScript file of this repository on the Node.js that the lockfile brings, whatever Node.js the machine has.
// Plain JavaScript on purpose: this is the one file that has to work before anything is installed, on Node.js 20.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const node = join(root, 'node_modules', '.bin', 'node')

/** The packages of a lockfile by their paths. npm keeps such a file of what it has installed, too. */
const packagesIn = (...path) => JSON.parse(readFileSync(join(root, ...path), 'utf8')).packages

/** Whether everything that is locked is installed, however it was installed; what is optional depends on the platform. */
function isInstalled() {
  if (!existsSync(node) || !existsSync(join(root, 'node_modules', '.package-lock.json'))) return false
  const present = packagesIn('node_modules', '.package-lock.json')
  return Object.entries(packagesIn('package-lock.json')).every(
    ([path, { version, optional }]) => path === '' || optional || present[path]?.version === version,
  )
}

function install() {
  process.stderr.write('Installing dependencies (npm ci) …\n')
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (npm.status !== 0) {
    process.stderr.write(
      `npm ci failed (exit ${npm.status ?? npm.signal ?? npm.error?.message}). Its output is above; correct that and run the command again.\n`,
    )
    process.exit(1)
  }
  if (!existsSync(node)) {
    process.stderr.write(
      `No Node.js 24 is packaged for ${process.platform}-${process.arch}: install Node.js 24 and run "node ${process.argv.slice(2).join(' ')}".\n`,
    )
    process.exit(1)
  }
}

const [script, ...args] = process.argv.slice(2)
if (!isInstalled()) install()
const child = spawn(node, ['--disable-warning=ExperimentalWarning', join(root, script), ...args], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
