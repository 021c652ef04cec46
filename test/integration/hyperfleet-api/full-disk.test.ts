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

/**
 * A volume that is seen by what is started with the prefix, as this folder; it goes with the test.
 * @param more commands that change what else is seen
 */
const smallVolume = async (more = ':') => {
  const folder = await temporaryFolder('small')
  const mount = `mount -t tmpfs -o size=${VOLUME} none ${folder}; ${more}; touch ${folder}/mounted; exec sleep 600`
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

/** As in a container with a read-only root: nothing but volumes can be written. */
const NOTHING_ELSE = 'for m in / /tmp /var/tmp; do ! mountpoint -q $m || mount -o remount,bind,ro $m; done'

const startIn = async ({ folder, prefix }: Awaited<ReturnType<typeof smallVolume>>) => {
  const command = [...prefix, process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM] as const
  const api = await startMuster(['api', `--data-dir=${folder}`, ...LISTEN], {}, command)
  return { api, url: String((await api.line('the HyperFleet API is serving')).url) }
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
    const volume = await smallVolume()
    const { seen } = volume
    const start = async () => {
      const { api, url } = await startIn(volume)
      return { api, clusters: clustersOf(url) }
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

// GITOPS-10
test.skipIf(MISSING !== undefined)(
  'an API that can write nothing but its volume keeps a cluster from its creation to its end',
  async () => {
    const volume = await smallVolume(NOTHING_ELSE)
    const { api, url } = await startIn(volume)
    await using _ = api
    const call = async (method: string, path: string, body?: object) => {
      const answer = await fetch(`${url}/api/hyperfleet/v1/clusters${path}`, {
        method,
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      })
      return { status: answer.status, body: (await answer.json().catch(() => undefined)) as { readonly id: string } }
    }
    const { id } = (await call('POST', '', { name: 'whole-life', spec: {} })).body
    const report = (generation: number, applied: 'True' | 'False') =>
      call('PUT', `/${id}/statuses`, {
        adapter: 'dns',
        observed_generation: generation,
        conditions: [
          { type: 'Applied', status: applied },
          { type: 'Available', status: applied },
          { type: 'Health', status: 'True' },
          { type: 'Finalized', status: applied === 'True' ? 'False' : 'True' },
        ],
      })
    expect((await report(1, 'True')).status).toBeLessThan(300)
    expect((await call('DELETE', `/${id}`)).status).toBeLessThan(300)
    expect((await report(2, 'False')).status).toBeLessThan(300)
    expect((await call('GET', `/${id}`)).status).toBe(404)
  },
)
