import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Bundle, bundle } from '#hack/build/bundle.ts'
import { startChild, untilReady } from '#hack/process/child.ts'
import { freePort } from '#hack/process/ports.ts'
import { deployedMemory } from '#test/bench/deployed.ts'
import { usageOf } from '#test/bench/measure/process.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
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

describe('RUNTIME-81 RUNTIME-82 RUNTIME-84 what waits takes little memory', () => {
  /** Starts it as its Deployment does, and waits until it is ready. */
  const started = async (name: 'api' | 'sentinel', args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const probe = await freePort()
    const always = [`--health-probe-bind-address=127.0.0.1:${probe}`, '--metrics-bind-address=0']
    const child = await startChild({
      name,
      command: process.execPath,
      args: [join(folder, 'muster.mjs'), ...args, ...always],
      env: { ...process.env, ...deployedMemory(name).env, ...env },
      logFile: join(folder, `${name}.log`),
      guarded: true,
    })
    onTestFinished(async () => void (await child.stop()))
    const isReady = () =>
      fetch(`http://127.0.0.1:${probe}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    await untilReady(child, isReady, { interval: 50 })
    return child
  }

  const rss = (of: { readonly pid: number }) =>
    expect.poll(() => usageOf(of.pid).rssMiB, { timeout: 30_000, interval: 500 })

  test('the API: 70 MiB in docs/decisions/bundle.md, 87 without what these rules say', async () => {
    const args = ['api', `--bind-address=127.0.0.1:${await freePort()}`, `--data-dir=${join(folder, 'data')}`]
    await rss(await started('api', args)).toBeLessThan(76)
  })

  test('a manager: 59 MiB there, 78 without', async () => {
    const plane = await sharedControlPlane()
    const args = ['manager', '--controllers=sentinel', `--namespace=${await plane.namespace()}`]
    const manager = await started('sentinel', args, { KUBECONFIG: plane.kubeconfig })
    // Less is loaded at first, and what the start left is collected later.
    await sleep(3500)
    await rss(manager).toBeLessThan(68)
  })
})
