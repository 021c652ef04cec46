/** A rejected promise that nothing handles, in each program that goes on until it is told to stop (RUNTIME-70). */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { UNHANDLED_REJECTION } from '#lib/process/unhandled-rejections.ts'
import { startMuster } from '#test/harness/index.ts'

/** Loaded into the program: it loses a promise whenever it gets this signal. */
const LOSES_A_PROMISE = `--import data:text/javascript,process.on('SIGUSR2',()=>{Promise.reject(new/**/Error('lost'))})`

/** Where a program waits for an answer. */
const silentPort = async (): Promise<number> => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const kubeconfigOf = async (port: number): Promise<string> => {
  const file = join(await temporaryFolder('kubeconfig'), 'config')
  const config = {
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: { token: 'token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  await writeFile(file, JSON.stringify(config))
  return file
}

/** A port without a server. */
const REFUSED = 1

test.each([
  [
    'api',
    async () => [`--data-dir=${await temporaryFolder('api')}`, '--bind-address=127.0.0.1:0'],
    'the HyperFleet API is serving',
  ],
  ['manager', async () => [`--kubeconfig=${await kubeconfigOf(await silentPort())}`], 'serving metrics'],
  [
    'nats',
    async () => [`--kubeconfig=${await kubeconfigOf(REFUSED)}`, `--output=${await temporaryFolder('nats')}`],
    /the users of NATS can't be brought up to date/,
  ],
  [
    'agent',
    async () => [
      '--device=one',
      `--nats-url=nats://127.0.0.1:${REFUSED}`,
      `--state-dir=${await temporaryFolder('agent')}`,
      '--program-user=self',
    ],
    'starting',
  ],
])('RUNTIME-70: muster %s logs and counts a promise that was lost, and goes on', async (command, args, begun) => {
  const scraped = command === 'api' || command === 'manager' ? `127.0.0.1:${await freePort()}` : undefined
  const metrics = scraped === undefined ? [] : [`--metrics-bind-address=${scraped}`]
  const probes = command === 'agent' ? [] : ['--health-probe-bind-address=0']
  const process = await startMuster([command, ...(await args()), ...metrics, ...probes], {
    NODE_OPTIONS: LOSES_A_PROMISE,
  })
  onTestFinished(async () => {
    process.signal('SIGKILL')
    await process.exited
  })
  await process.line(({ msg }) => (typeof begun === 'string' ? msg === begun : begun.test(msg)))
  const lost = () => process.log().filter(({ msg }) => msg === UNHANDLED_REJECTION)
  for (const count of [1, 2]) {
    process.signal('SIGUSR2')
    await expect.poll(lost).toHaveLength(count)
  }
  expect(lost()).toMatchObject([1, 2].map(() => ({ level: 'error', error: expect.stringMatching(/^Error: lost/) })))
  if (scraped === undefined) return
  const text = await (await fetch(`http://${scraped}/metrics`)).text()
  expect(text).toMatch(/^process_unhandled_rejections_total(\{.*\})? 2$/m)
})
