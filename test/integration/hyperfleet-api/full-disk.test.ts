import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startChild, untilReady } from '#hack/process/child.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startMuster } from '#test/harness/index.ts'

/** Why no volume can be mounted here. */
const MISSING =
  process.platform === 'linux' && process.getuid?.() === 0
    ? undefined
    : 'A small volume is mounted for this: run the tests as root on Linux'

/** Bytes. The empty database and its log need less than one million. */
const VOLUME = 4 * 1024 * 1024

/** A volume that is seen by what is started with the prefix, as this folder; it goes with the test. */
const smallVolume = async () => {
  const folder = await temporaryFolder('small')
  const mount = `mount -t tmpfs -o size=${VOLUME} none ${folder}; touch ${folder}/mounted; exec sleep 600`
  const holder = await startChild({
    command: 'unshare',
    args: ['--mount', '--propagation=private', 'sh', '-euc', mount],
    logFile: join(await temporaryFolder('holder'), 'log'),
    guarded: true,
  })
  onTestFinished(async () => void (await holder.kill()))
  const seen = `/proc/${holder.pid}/root${folder}`
  await untilReady(holder, async () => existsSync(join(seen, 'mounted')))
  return { folder, seen, prefix: ['nsenter', '--mount', `--target=${holder.pid}`] as const }
}

interface Answer {
  readonly status: number
  readonly body: { readonly code?: string; readonly detail?: string; readonly total?: number }
}

const clustersOf =
  (url: string) =>
  async (path: string, body?: object): Promise<Answer> => {
    const method = body === undefined ? 'GET' : 'POST'
    const response = await fetch(`${url}/api/hyperfleet/v1/clusters${path}`, { method, body: JSON.stringify(body) })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }

const PROGRAM = join(import.meta.dirname, '../../../cmd/muster.ts')
const LISTEN = ['--bind-address', '--metrics-bind-address', '--health-probe-bind-address'].map(
  (flag) => `${flag}=127.0.0.1:0`,
)

describe.skipIf(MISSING !== undefined)(MISSING ?? 'an API whose volume is full', () => {
  test('says so to each write, keeps what it has confirmed, starts again, and goes on when there is room', async () => {
    const { folder, seen, prefix } = await smallVolume()
    const start = async () => {
      const command = [...prefix, process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM] as const
      const api = await startMuster(['api', `--data-dir=${folder}`, ...LISTEN], {}, command)
      return { api, clusters: clustersOf(String((await api.line('the HyperFleet API is serving')).url)) }
    }
    await writeFile(join(seen, 'others'), new Uint8Array(VOLUME / 4))
    const first = await start()
    await using _ = first.api
    const name = (number: number) => `cluster-${number}`
    let confirmed = 0
    // Each is large, so that the volume is soon full.
    const write = ({ clusters }: typeof first) =>
      clusters('', { name: name(confirmed), spec: { note: 'x'.repeat(100_000) } })
    let last = await write(first)
    for (; last.status === 201; last = await write(first)) confirmed += 1
    await expect(writeFile(join(seen, 'rest'), new Uint8Array(VOLUME))).rejects.toThrow('ENOSPC')
    expect(last).toMatchObject({
      status: 507,
      body: {
        code: 'HYPERFLEET-SVC-002',
        detail: 'the volume of the database is full: make it larger, then try again',
      },
    })
    expect(await first.api.line(({ level }) => level === 'error')).toMatchObject({
      error: expect.stringContaining('database or disk is full'),
    })
    expect(await write(first)).toMatchObject({ status: 507 })
    expect((await first.clusters('?pageSize=1')).body.total).toBe(confirmed)
    expect(await first.api.stop()).toEqual({ code: 0, signal: null })

    const second = await start()
    await using __ = second.api
    expect((await second.clusters('?pageSize=1')).body.total).toBe(confirmed)
    expect(await write(second)).toMatchObject({ status: 507 })
    await rm(join(seen, 'others'))
    expect(await write(second)).toMatchObject({ status: 201 })
    expect((await second.clusters('?pageSize=1')).body.total).toBe(confirmed + 1)
  })
})
