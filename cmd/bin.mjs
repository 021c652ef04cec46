#!/usr/bin/env node
// `muster` in a checkout: runs cmd/muster.ts on the Node.js that the lockfile brings, whatever Node.js started this file.
// Plain JavaScript on purpose: it must work on the oldest Node.js that npm itself runs on. The image runs dist/muster.mjs instead.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const locked = join(root, 'node_modules', '.bin', 'node')
const OLDEST = 24

const node = existsSync(locked) ? locked : process.execPath
if (node === process.execPath && Number.parseInt(process.versions.node, 10) < OLDEST) {
  process.stderr.write(
    `muster: needs Node.js ${OLDEST} and found ${process.versions.node}: run "npm ci", which brings it\n`,
  )
  process.exit(1)
}

const child = spawn(
  node,
  ['--disable-warning=ExperimentalWarning', join(root, 'cmd', 'muster.ts'), ...process.argv.slice(2)],
  {
    stdio: 'inherit',
  },
)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
