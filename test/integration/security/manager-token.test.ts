/** Attacks on the manager's token for the HyperFleet API, by people who may write AdapterTasks and SentinelConfigs: docs/security.md. */
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { systemClock } from '#operator/index.ts'
import { type AdapterWorld, adapterWorld, namespaceAndConfig, PATIENCE } from '../adapter/world.ts'
import { type SentinelWorld, sentinelWorld } from '../sentinel/world.ts'

const TOKEN = 'the-token-of-the-manager'

let folder: string
let tokenFile: string
let requests: IncomingHttpHeaders[] = []
/** What an author has: it takes down what it is sent, and answers nothing of use. */
const listener = createServer((request, response) => {
  requests.push(request.headers)
  response.writeHead(503).end()
})
let url: string
let tasks: AdapterWorld
let configs: SentinelWorld

beforeAll(async () => {
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  // As kubelet lays a token out: a link to a link.
  folder = await temporaryFolder('token')
  tokenFile = join(folder, 'hyperfleet', 'token')
  await mkdir(join(folder, 'hyperfleet', '..data-1'), { recursive: true })
  await mkdir(join(folder, 'open'))
  await writeFile(join(folder, 'hyperfleet', '..data-1', 'token'), TOKEN)
  await symlink('..data-1', join(folder, 'hyperfleet', '..data'))
  await symlink('..data/token', tokenFile)
  await symlink(join(folder, 'hyperfleet', 'token'), join(folder, 'open', 'way-round'))
  tasks = await adapterWorld()
  configs = await sentinelWorld()
})

beforeEach(() => {
  requests = []
})

afterAll(async () => {
  await tasks?.[Symbol.asyncDispose]()
  await configs?.[Symbol.asyncDispose]()
  listener.close()
})

const problemOf = async (name: string) => {
  const { status } = await tasks.until(name, 'InvalidTask')
  return status?.conditions?.find(({ type }) => type === 'Ready')?.message
}

test('ADAPTER-95 attack: a task names its author’s server as the API, with and without the token’s file', async () => {
  await tasks.declare('own-server', { ...namespaceAndConfig(), hyperfleetAPI: { url } })
  await tasks.declare('own-server-token', { ...namespaceAndConfig(), hyperfleetAPI: { url, tokenPath: tokenFile } })
  await tasks.declare('metadata', { ...namespaceAndConfig(), hyperfleetAPI: { url: 'http://169.254.169.254' } })
  await tasks.declare('honest', namespaceAndConfig())
  const manager = await tasks.manager(undefined, { hyperfleetApiTokenFile: tokenFile, files: [folder] })
  await tasks.until('honest', 'Working')
  expect(await problemOf('own-server')).toContain('it is not the API of --hyperfleet-api-url')
  expect(await problemOf('own-server-token')).toContain('it is not the API of --hyperfleet-api-url')
  expect(await problemOf('metadata')).toContain('link-local')
  // Leaving a task goes to its API, too.
  for (const name of ['own-server', 'own-server-token', 'metadata'])
    await tasks.plane.kubectl('delete', 'adaptertask', name, `--namespace=${tasks.namespace}`)
  await manager.stop()
  expect(requests).toEqual([])
})

test('ADAPTER-95 attack: where the operator lists the server, it is asked, without the manager’s token', async () => {
  await tasks.declare('listed', { ...namespaceAndConfig(), hyperfleetAPI: { url } })
  await tasks.declare('listed-token', { ...namespaceAndConfig(), hyperfleetAPI: { url, tokenPath: tokenFile } })
  const manager = await tasks.manager(undefined, {
    hyperfleetApiTokenFile: tokenFile,
    httpTargets: [url],
    files: [folder],
  })
  await vi.waitFor(() => expect(requests).not.toEqual([]), PATIENCE)
  expect(await problemOf('listed-token')).toContain(
    "the manager's token, which is sent to no API but that of --hyperfleet-api-url",
  )
  await manager.stop()
  expect(requests.map(({ authorization }) => authorization)).toEqual(requests.map(() => undefined))
})

test('ADAPTER-52 attack: a param reads the token by its file, by what that links to, and by a link beside it', async () => {
  const paths = [tokenFile, join(folder, 'hyperfleet', '..data-1', 'token'), join(folder, 'open', 'way-round')]
  await tasks.declare('reader', {
    params: [
      { name: 'clusterId', source: 'event.id', required: true },
      ...paths.map((path, at) => ({ name: `p${at}`, source: { file: { path } }, default: 'nothing' })),
    ],
    resources: [
      {
        name: 'loot',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'loot-{{ .clusterId }}', namespace: tasks.namespace },
          data: { loot: '{{ .p0 }} {{ .p1 }} {{ .p2 }}' },
        },
        discovery: { namespace: tasks.namespace, by_name: 'loot-{{ .clusterId }}' },
      },
    ],
  })
  // The operator has listed the folder around it.
  const manager = await tasks.manager(undefined, { hyperfleetApiTokenFile: tokenFile, files: [folder] })
  await tasks.until('reader', 'Working')
  const { id } = await tasks.create('looted')
  await tasks.pulse(id)
  const loot = await vi.waitFor(async () => {
    const found = await tasks.object(`/api/v1/namespaces/${tasks.namespace}/configmaps/loot-${id}`)
    if (found === undefined) throw new Error('nothing was applied')
    return found
  }, PATIENCE)
  expect(loot).toMatchObject({ data: { loot: 'nothing nothing nothing' } })
  await manager.stop()
})

test('SENTINEL-45 attack: a SentinelConfig names its author’s server, or another address of the cluster, as the API: none is asked', async () => {
  const others = { 'own-server': url, metadata: 'http://169.254.169.254', kubernetes: 'https://kubernetes.default.svc' }
  for (const [name, other] of Object.entries(others))
    await configs.declare(name, { resourceType: 'clusters', hyperfleetAPI: { url: other } })
  const sentinel = await configs.start(systemClock, { hyperfleetApiUrl: tasks.url, hyperfleetApiTokenFile: tokenFile })
  const problem = async (name: string) => {
    const { status } = await configs.until(name, 'InvalidSpec')
    return status?.conditions?.find(({ type }) => type === 'Ready')?.message
  }
  expect(await problem('own-server')).toContain(
    `${url}/ is not among what --sentinel-http-targets lists, which is nothing, and it is not the API of --hyperfleet-api-url`,
  )
  expect(await problem('kubernetes')).toContain('is not among what --sentinel-http-targets lists')
  expect(await problem('metadata')).toContain('link-local')
  await sentinel.stop()
  expect(requests).toEqual([])
})

test('SENTINEL-45 attack: where the operator lists the server, it is asked, without the token', async () => {
  await configs.declare('listed', { resourceType: 'clusters', hyperfleetAPI: { url } })
  const sentinel = await configs.start(systemClock, {
    hyperfleetApiUrl: tasks.url,
    hyperfleetApiTokenFile: tokenFile,
    httpTargets: [url],
  })
  await configs.until('listed', 'APIUnreachable')
  await sentinel.stop()
  expect(requests).not.toEqual([])
  expect(requests.map(({ authorization }) => authorization)).toEqual(requests.map(() => undefined))
})

test('SENTINEL-45: the API of the flag gets it', async () => {
  await configs.declare('theirs', { resourceType: 'clusters' })
  const sentinel = await configs.start(systemClock, { hyperfleetApiUrl: url, hyperfleetApiTokenFile: tokenFile })
  await vi.waitFor(
    () => expect(requests.map(({ authorization }) => authorization)).toContain(`Bearer ${TOKEN}`),
    PATIENCE,
  )
  await sentinel.stop()
})
