/** Memory and lists stay bounded, whatever the API server has and however it answers: RUNTIME-53 to RUNTIME-55. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished, test, vi } from 'vitest'
import { kubeconfig as kubeconfigOf, writeKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { createApi } from '#operator/client/api.ts'
import { inParallel, upTo } from '#test/bench/in-parallel.ts'
import { repetitions } from '#test/harness/deep.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { json, type ScriptedRequest, scriptedServer, writeEndlessly } from '#test/harness/scripted-server.ts'
import { throttled } from '#test/harness/slow-stream.ts'
import { eventually, Widget, widgetCrd } from '../operator/world.ts'
import { CONFIG_MAPS, configMap, transportOf } from './world.ts'

const NAMESPACE = 'default'

interface Limited {
  /** Until it has printed that. @throws Error with what it printed last, when it has ended */
  prints(expected: RegExp): Promise<void>
  /** It lists all widgets by pages. */
  list(): void
}

/** The process, with so many MiB for its objects, as a manifest gives them to a manager. */
const limitedTo = (mebibytes: number, kubeconfig: string): Limited => {
  const script = join(import.meta.dirname, 'bounds-process.ts')
  const flags = [`--max-old-space-size=${mebibytes}`, '--max-semi-space-size=2']
  const child: ChildProcess = spawn(process.execPath, [...flags, script, kubeconfig, NAMESPACE], { stdio: 'pipe' })
  const lines: string[] = []
  for (const output of [child.stdout, child.stderr])
    if (output !== null) createInterface(output).on('line', (line) => lines.push(line))
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  let read = 0
  return {
    prints: (expected) =>
      vi.waitUntil(
        () => {
          const found = lines.findIndex((line, index) => index >= read && expected.test(line))
          if (found !== -1) read = found + 1
          else if (child.exitCode !== null || child.signalCode !== null)
            throw new Error(`it ended (${child.signalCode ?? child.exitCode}): ${lines.slice(-12).join('\n')}`)
          return found !== -1
        },
        { timeout: 300_000, interval: 50 },
      ) as Promise<unknown> as Promise<void>,
    list: () => child.stdin?.write('list\n'),
  }
}

const withWidgets = async (): Promise<OwnControlPlane> => {
  const plane = await startControlPlane({ parts: ['etcd', 'kube-apiserver'], crds: false })
  onTestFinished(() => plane.stop())
  await plane.rest('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetCrd())
  await eventually(() => plane.rest('GET', '/apis/test.muster.dev/v1/widgets'))
  return plane
}

const createWidgets = async (plane: OwnControlPlane, count: number, color: string): Promise<void> => {
  const api = createApi(transportOf(plane.kubeconfig))
  await inParallel(upTo(count), 32, (n) =>
    api.create(Widget, { metadata: { name: `widget-${n}`, namespace: NAMESPACE }, spec: { size: n, color } }),
  )
}

/** A scripted server's kubeconfig as a file. */
const fileOf = async (server: string): Promise<string> => {
  const file = join(await temporaryFolder('kubeconfig'), 'kubeconfig')
  await writeKubeconfig(file, kubeconfigOf({ name: 'scripted', server, certificateAuthority: '', token: 'secret' }))
  return file
}

const widget = (n: number, color: string) => ({
  type: 'ADDED',
  object: {
    apiVersion: 'test.muster.dev/v1',
    kind: 'Widget',
    metadata: {
      name: `widget-${n}`,
      namespace: NAMESPACE,
      uid: `uid-${n}`,
      resourceVersion: `${n + 1}`,
      generation: 1,
    },
    spec: { size: n, color },
  },
})
const endOfList = (resourceVersion: number) => ({
  type: 'BOOKMARK',
  object: {
    metadata: { resourceVersion: `${resourceVersion}`, annotations: { 'k8s.io/initial-events-end': 'true' } },
  },
})

/** Writes lines as fast as they are read. */
const stream = (response: ServerResponse, lines: Iterator<object>): void => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const more = (): void => {
    while (!response.destroyed) {
      const { value, done } = lines.next()
      if (done === true) return
      if (!response.write(`${JSON.stringify(value)}\n`)) {
        response.once('drain', more)
        return
      }
    }
  }
  more()
}

/** A server with these widgets and one ConfigMap. */
const serverWith = async (
  widgets: () => Iterator<object>,
  others: (request: ScriptedRequest, response: ServerResponse) => void,
) => {
  const server = await scriptedServer((request, response) => {
    const { path, query } = request
    if (query.get('watch') === null) return others(request, response)
    if (query.get('sendInitialEvents') === null) return response.writeHead(200).flushHeaders()
    if (path.endsWith('/widgets')) return stream(response, widgets())
    const metadata = { name: 'other', namespace: NAMESPACE, uid: 'other', resourceVersion: '1' }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
    return stream(response, [{ type: 'ADDED', object }, endOfList(1)].values())
  })
  onTestFinished(() => server[Symbol.asyncDispose]())
  return fileOf(server.url)
}

const text = (bytes: number): string => 'x'.repeat(bytes)

// RUNTIME-55
test('100,000 objects are reconciled with 384 MiB', { timeout: 400_000 }, async () => {
  const COUNT = 100_000
  const all = function* () {
    for (let n = 0; n < COUNT; n++) yield widget(n, text(400))
    yield endOfList(COUNT + 1)
  }
  const one = limitedTo(384, await serverWith(all, (_, response) => json(response, 200, { metadata: {}, items: [] })))
  await one.prints(/^widgets 100000$/)
})

test('5,000 objects of a real API server are reconciled, and listed in pages, with 80 MiB', {
  timeout: 2_000_000,
}, async () => {
  const count = repetitions({ slice: 5_000, deep: 100_000 })
  const plane = await withWidgets()
  await createWidgets(plane, count, text(100))
  const one = limitedTo(repetitions({ slice: 80, deep: 512 }), plane.kubeconfig)
  await one.prints(new RegExp(`^widgets ${count}$`))
  one.list()
  await one.prints(new RegExp(`^listed ${count}$`))
})

test('objects of a megabyte are listed with 128 MiB; more than there is room for are not taken in, and the others go on', {
  timeout: 400_000,
}, async () => {
  const plane = await withWidgets()
  const api = createApi(transportOf(plane.kubeconfig))
  await createWidgets(plane, 50, text(1_000_000))
  const one = limitedTo(128, plane.kubeconfig)
  await one.prints(/^widgets are ready$/)
  await one.prints(/^widgets 50$/)
  one.list()
  await one.prints(/^listed 50$/)

  await inParallel(upTo(40), 8, (n) =>
    api.create(Widget, {
      metadata: { name: `more-${n}`, namespace: NAMESPACE },
      spec: { size: n, color: text(1_000_000) },
    }),
  )
  await one.prints(/widgets\.test\.muster\.dev: the watched objects need more than 67 MiB, half of the memory/)
  await api.create(CONFIG_MAPS, configMap(NAMESPACE, 'later'))
  await one.prints(/^ConfigMap later$/)
  one.list()
  await one.prints(/^listed 90$/)
})

// RUNTIME-54
test('a kind that comes with 1 KB/s is read to its end; until then it says so, and others go on', {
  timeout: 400_000,
}, async () => {
  const plane = await withWidgets()
  const api = createApi(transportOf(plane.kubeconfig))
  await createWidgets(plane, 20, text(300))
  await using proxy = await plane.proxy()
  proxy.decide(({ path }) => (path.includes('/widgets?') ? { through: throttled(1_024) } : 'pass'))
  const one = limitedTo(128, proxy.kubeconfig)
  await one.prints(/^not ready: the caches are being filled: widgets\.test\.muster\.dev \([1-9]\d* so far\)$/)
  await api.create(CONFIG_MAPS, configMap(NAMESPACE, 'meanwhile'))
  await one.prints(/^ConfigMap meanwhile$/)
  await one.prints(/^widgets 20$/)
  one.list()
  await one.prints(/^listed 20$/)
})

// RUNTIME-53, RUNTIME-55
test('a list and an answer without end are cut, and the process lives and goes on with others', {
  timeout: 400_000,
}, async () => {
  const endless = function* () {
    for (let n = 0; ; n++) yield widget(n, text(400))
  }
  const block = `"${text(2 ** 20)}",`
  const one = limitedTo(
    128,
    await serverWith(endless, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"items":[')
      writeEndlessly(response, block)
    }),
  )
  await one.prints(/^ConfigMap other$/)
  await one.prints(/^not ready: .*the watched objects need more than 67 MiB/)
  one.list()
  await one.prints(/^list failed: AnswerTooLargeError: an answer is larger than \d+ bytes$/)
  // Again and again.
  one.list()
  await one.prints(/^list failed: AnswerTooLargeError: an answer is larger than \d+ bytes$/)
})
