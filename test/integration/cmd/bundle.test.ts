import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Bundle, bundle } from '#hack/build/bundle.ts'
import { startChild, untilReady } from '#hack/process/child.ts'
import { freePort } from '#hack/process/ports.ts'
import { deployedMemory } from '#test/bench/deployed.ts'
import { usageOf } from '#test/bench/measure/process.ts'
import { muster } from './run.ts'

const run = promisify(execFile)

let folder: string
let built: Bundle

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-bundle-'))
  built = await bundle(folder)
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

const bundled = async (...args: readonly string[]): Promise<string> =>
  (await run(process.execPath, [join(folder, 'muster.mjs'), ...args])).stdout

test('it says from which commit it was built', async () => {
  expect(JSON.parse(await bundled('version', '--output=json'))).toEqual({ ...built.info, node: process.version })
})

test('it prints the same CRDs as the checkout', async () => {
  expect((await bundled('crds')).trimEnd()).toBe((await muster(['crds'])).output)
})

describe('a manager that runs the Sentinel loads', () => {
  /** Sources in the files that these commands' files import, at once or when asked for by name. */
  const sources = (entries: readonly string[]): string[] => {
    const outputs = new Map(Object.entries(built.metafile.outputs).map(([path, output]) => [basename(path), output]))
    const reached = new Set<string>()
    const reach = (file: string) => {
      if (reached.has(file)) return
      reached.add(file)
      for (const { path, kind } of outputs.get(file)?.imports ?? [])
        if (kind === 'import-statement') reach(basename(path))
    }
    for (const [file, { entryPoint }] of outputs)
      if (entryPoint !== undefined && entries.includes(entryPoint)) reach(file)
    return [...reached].flatMap((file) =>
      Object.entries(outputs.get(file)?.inputs ?? {}).flatMap(([path, { bytesInOutput }]) =>
        bytesInOutput > 0 ? [path] : [],
      ),
    )
  }

  const packagesOf = (paths: readonly string[]): string[] =>
    [
      ...new Set(
        paths.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? dirname(path).split('/')[0]),
      ),
    ]
      .filter((name) => name !== undefined)
      .toSorted()

  const MANAGER = ['cmd/main.ts', 'cmd/manager/run.ts', 'controllers/sentinel/index.ts']

  test('nothing of the API, and of the schema library nothing at all', () => {
    const loaded = sources(MANAGER)
    const packages = packagesOf(loaded)
    expect(packages).toContain('controllers')
    // The client's errors stand in the catalogue of the API: names and words alone.
    const ofClient = /^services\/hyperfleet-api\/(client\/|errors\.ts$)/
    expect(loaded.filter((path) => path.startsWith('services/') && !ofClient.test(path))).toEqual([])
    for (const absent of ['fastify', 'ajv', 'kysely', 'pg', '@nats-io/jetstream', 'typebox']) {
      expect(packages).not.toContain(absent)
    }
  })

  test('of other controllers their entries alone, and where the runs of adapter tasks are kept', () => {
    const others = sources(MANAGER).filter((path) => /^controllers\/(?!sentinel\/)/.test(path))
    const [entries, rest] = [true, false].map((isEntry) =>
      others.filter((path) => path.endsWith('/entry.ts') === isEntry),
    )
    expect(entries).toContain('controllers/fleet/entry.ts')
    expect(rest?.filter((path) => !path.startsWith('controllers/adapter/runs/'))).toEqual([])
  })

  test('no OpenTelemetry, and neither does an API that isn’t traced', () => {
    for (const command of ['cmd/manager/run.ts', 'cmd/api/run.ts']) {
      const packages = packagesOf(sources(['cmd/main.ts', command]))
      expect(packages).toContain('pino')
      // prom-client brings the interface, which is a few kB.
      expect(packages.filter((name) => name.startsWith('@opentelemetry/') && name !== '@opentelemetry/api')).toEqual([])
    }
  })

  test('none of client-node’s generated clients and models', () => {
    const generated = sources(MANAGER).filter((path) => /client-node\/dist\/gen\/(apis|models|types)\//.test(path))
    expect(generated).toEqual([])
  })
})

test('RUNTIME-81 RUNTIME-82 the API that waits takes little memory', async () => {
  const { env } = deployedMemory('api')
  const [port, probe] = [await freePort(), await freePort()]
  const args = ['api', `--bind-address=127.0.0.1:${port}`, `--health-probe-bind-address=127.0.0.1:${probe}`]
  const api = await startChild({
    name: 'muster api',
    command: process.execPath,
    args: [join(folder, 'muster.mjs'), ...args, '--metrics-bind-address=0', `--data-dir=${join(folder, 'data')}`],
    env: { ...process.env, ...env },
    logFile: join(folder, 'api.log'),
    guarded: true,
  })
  onTestFinished(async () => void (await api.stop()))
  const isReady = () =>
    fetch(`http://127.0.0.1:${probe}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await untilReady(api, isReady, { interval: 50 })
  // 70 MiB in docs/decisions/bundle.md, 87 without what these rules say.
  await expect.poll(() => usageOf(api.pid).rssMiB, { timeout: 30_000, interval: 500 }).toBeLessThan(76)
})
