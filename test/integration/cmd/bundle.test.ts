import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Bundle, bundle } from '#hack/build/bundle.ts'
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

  const MANAGER = ['cmd/muster.ts', 'cmd/manager/run.ts', 'controllers/sentinel/index.ts']

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
      const packages = packagesOf(sources(['cmd/muster.ts', command]))
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
