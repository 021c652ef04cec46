import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')
const TIMEOUT = 300_000

interface Up {
  readonly child: ChildProcess
  /** Everything it has printed so far. */
  output(): string
  readonly exited: Promise<number>
  /** Processes, on this machine, that it or its children started and that still run. */
  left(): readonly string[]
}

/** `npm run up` with a state folder of its own, by which its processes are known as well. */
const up = async (...args: readonly string[]): Promise<Up> => {
  const home = await temporaryFolder('e2e')
  const env = { ...process.env, XDG_STATE_HOME: home, MUSTER_CLUSTER: 'local' }
  const child = spawn('npm', ['run', '-s', 'up', '--', ...args], {
    cwd: REPOSITORY,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const exited = once(child, 'close').then(([code]) => code as number)
  return { child, output: () => output, exited, left: () => processesWith(home) }
}

const processesWith = (text: string): readonly string[] =>
  globSync('/proc/[0-9]*/environ').flatMap((file) => {
    try {
      if (!readFileSync(file, 'utf8').includes(text)) return []
      return [readFileSync(file.replace('environ', 'cmdline'), 'utf8').replaceAll('\0', ' ')]
    } catch {
      // It has just ended.
      return []
    }
  })

const said = async ({ output, exited }: Up, text: string): Promise<void> => {
  let ended = false
  void exited.then(() => {
    ended = true
  })
  while (!output().includes(text)) {
    if (ended) throw new Error(`npm run up ended without saying "${text}":\n${output()}`)
    await delay(50)
  }
}

/** Its lines, without what differs from run to run. */
const steps = (output: string): readonly string[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('✓') || line.startsWith('✗'))
    .map((line) => line.replace(/: .*/, ''))

test('npm run up -- --once brings everything up, sees the pulses of every sample and takes everything down', {
  timeout: TIMEOUT,
}, async () => {
  const run = await up('--once')
  expect(await run.exited, run.output()).toBe(0)
  expect(steps(run.output())).toMatchInlineSnapshot()
  expect(run.output()).toMatch(/pulse 1 of cluster\/boston: New \(.*cluster-sentinel-us-east\), now NotReady/)
  expect(run.output()).toMatch(
    /pulse 2 of cluster\/nowhere: NotReadyBackoffExpired \(.*cluster-sentinel-default\), now Ready/,
  )
  expect(run.left()).toEqual([])
})

test.for([
  ['SIGINT', 130, 'Start the manager'],
  ['SIGTERM', 130, 'Create sample clusters'],
] as const)('%s in the middle takes down what is up', { timeout: TIMEOUT }, async ([signal, code, step]) => {
  const run = await up('--once')
  await said(run, `… ${step}`)
  run.child.kill(signal)
  expect(await run.exited, run.output()).toBe(code)
  expect(run.output()).toContain('✓ Stopping the cluster')
  await expect.poll(run.left).toEqual([])
})

test('Ctrl-C after the samples are up is the ordinary end', { timeout: TIMEOUT }, async () => {
  const run = await up()
  await said(run, 'Pulses go on; Ctrl-C ends')
  expect(run.output()).toContain('kubectl get sentinelconfigs -A')
  run.child.kill('SIGINT')
  expect(await run.exited, run.output()).toBe(0)
  await expect.poll(run.left).toEqual([])
})

test('a bad flag is refused with the way to the right ones', { timeout: TIMEOUT }, async () => {
  const run = await up('--onec')
  expect(await run.exited).not.toBe(0)
  expect(run.output()).toContain("unknown option '--onec'")
  expect(run.output()).toContain('--once')
})
