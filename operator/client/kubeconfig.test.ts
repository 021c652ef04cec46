import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { KubeConfigError, loadKubeConfig } from './kubeconfig.ts'

let folder: string
const write = async (name: string, content: unknown): Promise<string> => {
  const file = join(folder, name)
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const config = {
  'current-context': 'one',
  clusters: [
    { name: 'c1', cluster: { server: 'https://one:6443' } },
    { name: 'c2', cluster: { server: 'http://two' } },
    { name: 'bad', cluster: { server: 'not a url' } },
  ],
  users: [{ name: 'u', user: { token: 't' } }],
  contexts: [
    { name: 'one', context: { cluster: 'c1', user: 'u' } },
    { name: 'two', context: { cluster: 'c2' } },
    { name: 'no-cluster', context: { cluster: 'c9', user: 'u' } },
    { name: 'no-user', context: { cluster: 'c1', user: 'u9' } },
    { name: 'no-url', context: { cluster: 'bad', user: 'u' } },
  ],
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'))
})
afterAll(() => rm(folder, { recursive: true }))
beforeEach(() => {
  vi.stubEnv('KUBECONFIG', '')
  vi.stubEnv('HOME', folder)
  return () => vi.unstubAllEnvs()
})

test('the current context is used, or the one asked for', async () => {
  const kubeconfig = await write('good', config)
  expect(loadKubeConfig({ kubeconfig }).getCurrentCluster()?.server).toBe('https://one:6443')
  expect(loadKubeConfig({ kubeconfig, context: 'two' }).getCurrentCluster()?.server).toBe('http://two')
})

test('KUBECONFIG may list several files that make one configuration, the first current context wins', async () => {
  const first = await write('first', {
    'current-context': 'two',
    clusters: [config.clusters[1]],
    contexts: [config.contexts[1]],
  })
  const second = await write('second', { ...config, clusters: [config.clusters[0]], contexts: [config.contexts[0]] })
  vi.stubEnv('KUBECONFIG', [first, second].join(delimiter))
  expect(loadKubeConfig().getCurrentContext()).toBe('two')
  expect(loadKubeConfig({ context: 'one' }).getCurrentCluster()?.name).toBe('c1')
})

test.each<[string, unknown, string | undefined, string]>([
  [
    'an unknown context',
    config,
    'thre',
    'context "thre" is not in FILE: name another one (valid: one, two, no-cluster, no-user, no-url)',
  ],
  [
    'no current context',
    { ...config, 'current-context': '' },
    undefined,
    'FILE has no current-context: give --context (valid: one,',
  ],
  [
    'a cluster that is not there',
    config,
    'no-cluster',
    'context "no-cluster" in FILE names the cluster "c9", which is not there: correct it, or name another context',
  ],
  [
    'a user who is not there',
    config,
    'no-user',
    'context "no-user" in FILE names the user "u9", which is not there: correct it, or name another context',
  ],
  [
    'a server that is no URL',
    config,
    'no-url',
    'cluster "bad" in FILE has the server "not a url": write a URL such as https://host:6443',
  ],
  [
    'no clusters',
    { clusters: [] },
    undefined,
    'kubeconfig FILE is not a kubeconfig: it has no clusters; name another file',
  ],
  ['plain text', 'hello', undefined, 'kubeconfig FILE is not a kubeconfig:'],
  ['broken YAML', '{', undefined, 'kubeconfig FILE is not a kubeconfig:'],
  ['an empty file', '', undefined, 'kubeconfig FILE is not a kubeconfig:'],
])('%s is one line that says where and what to write', async (name, content, context, message) => {
  const kubeconfig = await write(name.replaceAll(' ', '-'), content)
  const load = () => loadKubeConfig({ kubeconfig, context })
  expect(load).toThrow(KubeConfigError)
  expect(load).toThrow(message.replace('FILE', kubeconfig))
  expect(load).not.toThrow(/\n/)
})

test('a file that is not there, or a folder, is said so', () => {
  expect(() => loadKubeConfig({ kubeconfig: join(folder, 'missing') })).toThrow(
    `kubeconfig ${join(folder, 'missing')} does not exist: name another file`,
  )
  expect(() => loadKubeConfig({ kubeconfig: folder })).toThrow(`kubeconfig ${folder} is a folder: name a file`)
})

test('outside a cluster and without a kubeconfig the reason names the ways to give one', () => {
  expect(() => loadKubeConfig()).toThrow(
    'no cluster is configured: give --kubeconfig FILE, set KUBECONFIG, or run in a pod with a ServiceAccount',
  )
})
