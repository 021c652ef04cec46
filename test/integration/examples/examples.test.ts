import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { packRuntime } from '#hack/package/runtime-package.ts'
import { createApi } from '#operator/client/api.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { ConfigMap, Secret } from '../../../examples/kinds.ts'
import { eventually } from '../operator/world.ts'

const plane = await sharedControlPlane()
const root = join(import.meta.dirname, '../../..')
const run = promisify(execFile)
const page = await readFile(join(root, 'docs/examples.md'), 'utf8')

/** An example in a process and a namespace of its own. */
const start = async (file: string, namespace?: string, folder = join(root, 'examples')) => {
  const place = namespace ?? (await plane.namespace('examples'))
  const child = spawn(process.execPath, [join(folder, file)], {
    env: { ...process.env, KUBECONFIG: plane.kubeconfig, NAMESPACE: place },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  await eventually(() => expect(lines).toContain('ready'))
  const api = createApi(await plane.transport())
  return {
    namespace: place,
    api,
    lines,
    make: (name: string, metadata: object = {}, data: Record<string, string> = {}) =>
      api.create(ConfigMap, { metadata: { name, namespace: place, ...metadata }, data }),
    change: (name: string, part: object) => api.patch(ConfigMap, { name, namespace: place, type: 'merge', body: part }),
    get: (name: string) => api.get(ConfigMap, name, place),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
    },
  }
}

/** The page shows the example and what it prints. */
const expectShown = async (file: string, lines: readonly string[]) => {
  const code = await readFile(join(root, 'examples', file), 'utf8')
  expect(page).toContain(`\`\`\`ts\n${code}\`\`\`\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\``)
}

test('1-changes: prints what changes, and after a restart what was there', async () => {
  let namespace = ''
  const printed: string[] = []
  {
    await using the = await start('1-changes.ts')
    namespace = the.namespace
    await the.make('settings', { labels: { 'watch-me': '' } }, { color: 'red' })
    await eventually(() => expect(the.lines).toContain('settings is new'))
    await eventually(async () => expect((await the.get('settings'))?.metadata.annotations).toBeDefined())
    await the.change('settings', { data: { color: 'blue' } })
    await eventually(() => expect(the.lines).toHaveLength(3))
    printed.push(...the.lines)
  }
  await using again = await start('1-changes.ts', namespace)
  await eventually(() => expect(again.lines.toSorted()).toEqual(['ready', 'settings was there']))
  await expectShown('1-changes.ts', [...printed, '# stopped and started again', 'ready', 'settings was there'])
})

test('2-owned-objects: makes a Secret, and again when it is deleted', async () => {
  await using the = await start('2-owned-objects.ts')
  await the.make('shop', { labels: { password: 'wanted' } })
  const secret = () => the.api.get(Secret, 'shop', the.namespace)
  const first = await eventually(async () => {
    const found = await secret()
    expect(found).toBeDefined()
    return found
  })
  await the.api.delete(Secret, 'shop', the.namespace)
  await eventually(async () => expect((await secret())?.metadata.uid).not.toBe(first?.metadata.uid))
  await eventually(() => expect(the.lines).toHaveLength(3))
  await expectShown('2-owned-objects.ts', the.lines)
})

test('3-timer: deletes what has expired, and nothing else', async () => {
  await using the = await start('3-timer.ts')
  await the.make('stays', { annotations: { 'expires-at': '2999-01-01T00:00:00Z' } })
  await the.make('goes', { annotations: { 'expires-at': '2001-01-01T00:00:00Z' } })
  await eventually(async () => expect(await the.get('goes')).toBeUndefined())
  expect(await the.get('stays')).toBeDefined()
  await eventually(() => expect(the.lines).toHaveLength(2))
  await expectShown('3-timer.ts', the.lines)
})

test('4-daemon: counts while the object is there', async () => {
  await using the = await start('4-daemon.ts')
  await the.make('clock', { labels: { count: '' } })
  await eventually(async () => expect(Number((await the.get('clock'))?.data?.seconds)).toBeGreaterThan(0))
  await the.api.delete(ConfigMap, 'clock', the.namespace)
  await eventually(() => expect(the.lines).toHaveLength(2))
  await expectShown('4-daemon.ts', the.lines)
})

test('5-errors: waits, gives up with an Event, tries again', async () => {
  const server = createServer((_, response) => response.end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/`
  await using the = await start('5-errors.ts')
  await the.make('site', { labels: { check: 'url' } })
  await the.change('site', { data: { url: 'nonsense' } })
  const events = `/apis/events.k8s.io/v1/namespaces/${the.namespace}/events`
  await eventually(async () => expect(JSON.stringify(await plane.rest('GET', events))).toContain('BadURL'))
  await the.change('site', { data: { url: 'http://127.0.0.1:1/' } })
  await the.change('site', { data: { url } })
  await eventually(() => expect(the.lines.some((line) => line.startsWith('site answers 200'))).toBe(true))
  server.close()
  await expectShown('5-errors.ts', ['ready', 'site answers 200 after 1 failures'])
})

test('6-index-and-source: counts by an index, and writes when a source wakes it', async () => {
  await using the = await start('6-index-and-source.ts')
  await the.make('a', { labels: { team: 'red' } })
  await eventually(() => expect(the.lines).toContain('red: 1'))
  await the.make('b', { labels: { team: 'red' } })
  await eventually(() => expect(the.lines).toContain('red: 2'))
  await the.make('census', { annotations: { census: '' } })
  await eventually(async () => expect((await the.get('census'))?.data).toEqual({ red: '2' }))
  await the.api.delete(ConfigMap, 'a', the.namespace)
  await eventually(async () => expect((await the.get('census'))?.data).toEqual({ red: '1' }))
  await expectShown('6-index-and-source.ts', the.lines)
})

/** A program of its own with the runtime's package in node_modules. What it depends on is taken from ours, so no registry is asked. */
const programWithPackage = async (folder: string) => {
  const { version } = JSON.parse(await readFile(join(root, 'node_modules/@types/node/package.json'), 'utf8'))
  const manifest = { private: true, type: 'module', devDependencies: { '@types/node': version } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await cp(join(root, 'examples'), folder, { recursive: true })
  // npm keeps of them what the package needs, and takes away the rest.
  await run('cp', ['-a', join(root, 'node_modules/.'), join(folder, 'node_modules')])
  await rm(join(folder, 'node_modules/.package-lock.json'), { force: true })
  const archive = await packRuntime(join(folder, 'packed'))
  const options = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, archive], { cwd: folder })
}

test('the package, installed by npm into a program of its own, runs an example and declares its types', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-package-'))
  try {
    await programWithPackage(folder)
    const strict = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'esnext', '--types', 'node']
    const tsc = join(root, 'node_modules/.bin/tsc')
    const misuse =
      "import { controller } from 'muster/operator'\n// @ts-expect-error: a number is no kind\ncontroller(42)\n"
    await writeFile(join(folder, 'misuse.ts'), misuse)
    // Declarations of packages that we need are not ours to check.
    const options = ['--skipLibCheck', '--allowImportingTsExtensions', '1-changes.ts', 'misuse.ts']
    await run(tsc, [...strict, ...options], { cwd: folder })

    await using the = await start('1-changes.ts', undefined, folder)
    await the.make('settings', { labels: { 'watch-me': '' } }, { color: 'red' })
    await eventually(() => expect(the.lines).toContain('settings is new'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
