import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { scriptedServer } from '#test/harness/scripted-server.ts'
import { serve } from '../hyperfleet-api/support.ts'
import { muster } from './run.ts'

const entities = [{ kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] }]

test('muster why prints what a deletion waits for, by name and by id', async () => {
  const api = await serve({ entities })
  const { id } = await api.cluster('boston')
  await api.report(`/clusters/${id}`, { adapter: 'dns' })
  const why = (resource: string, ...more: readonly string[]) =>
    muster(['why', resource, `--hyperfleet-api-url=${api.url}`, ...more])
  expect(await why('clusters/boston')).toMatchObject({ code: 0 })
  await api.call('DELETE', `/clusters/${id}`)
  const waiting = await why('Cluster/boston')
  expect(waiting.code).toBe(1)
  expect(waiting.output).toContain(`Cluster boston (${id}), generation 2: Deleting since `)
  expect(waiting.output).toContain('waits for\n  adapter dns: its last report is of generation 1, not of 2\n')
  const json = JSON.parse((await why(`clusters/${id}`, '--output=json')).output) as { id: string }
  expect(json.id).toBe(id)
})

test('muster why says what it can’t find, and what it can’t mean', async () => {
  const api = await serve({ entities })
  const missing = await muster(['why', 'clusters/none', `--hyperfleet-api-url=${api.url}`])
  expect(missing).toEqual({ code: 3, output: "muster: the API has no clusters with name='none'" })
  const unclear = await muster(['why', 'boston'])
  expect(unclear).toEqual({
    code: 2,
    output: 'muster: resource: "boston" is none: write KIND/NAME, such as clusters/boston',
  })
  expect(await muster(['why', 'Gateway/boston', `--hyperfleet-api-url=${api.url}`])).toEqual({
    code: 3,
    output: 'muster: the API has no kind Gateway: write one of clusters',
  })
})

test('GITOPS-57: muster why takes a kind as npm run up and kubectl write it, and knows one that is mistyped', async () => {
  const api = await serve({ entities })
  const { id } = await api.cluster('boston')
  const why = (resource: string) => muster(['why', resource, `--hyperfleet-api-url=${api.url}`])
  for (const kind of ['cluster', 'CLUSTERS'])
    expect(await why(`${kind}/boston`)).toMatchObject({ output: expect.stringContaining(`Cluster boston (${id})`) })
  expect(await why('clustres/boston')).toEqual({
    code: 3,
    output: 'muster: the API has no kind clustres; did you mean clusters? write one of clusters',
  })
})

test('GITOPS-57: muster why says which flag lets it look', async () => {
  await using api = await scriptedServer((_, response) => {
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ detail: 'no' }))
  })
  const token = join(await temporaryFolder('token'), 'token')
  await writeFile(token, 'expired')
  const why = async (...flags: readonly string[]) => (await muster(['why', 'clusters/boston', ...flags])).output
  expect(await why(`--hyperfleet-api-url=${api.url}`)).toMatch(/401: no; give a token by --hyperfleet-api-token-file$/)
  expect(await why(`--hyperfleet-api-url=${api.url}`, `--hyperfleet-api-token-file=${token}`)).toMatch(
    /401: no; the file .*token of --hyperfleet-api-token-file has no good token$/,
  )
  expect(await why('--hyperfleet-api-token-file=/nonexistent')).toBe(
    'muster: --hyperfleet-api-token-file: /nonexistent can’t be read (ENOENT)',
  )
  expect(await why('--hyperfleet-api-url=http://127.0.0.1:9')).toMatch(
    /ECONNREFUSED 127\.0\.0\.1:9; --hyperfleet-api-url says where the API is$/,
  )
  expect(await why(`--hyperfleet-api-url=${api.url.replace('http', 'https')}`)).toMatch(
    /; it speaks no TLS: write http:\/\/ in --hyperfleet-api-url$/,
  )
})

// API-185
test('attack: of several records of one name so large ones are made that a page has room for one alone; muster why takes it for none of them', async () => {
  await using api = await scriptedServer(({ query }, response) => {
    const isLarge = Number(query.get('size')) > 1
    response.writeHead(isLarge ? 413 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isLarge ? {} : { items: [{ id: '1', href: '/clusters/1' }], total: 2 }))
  })
  expect(await muster(['why', 'clusters/boston', `--hyperfleet-api-url=${api.url}`])).toEqual({
    code: 3,
    output: "muster: several clusters have name='boston', write the id of one: /clusters/1, and 1 more",
  })
})

test('what could not be looked at is no answer: code 3, of every command that looks', async () => {
  const file = join(await temporaryFolder('nowhere'), 'kubeconfig')
  const clusters = [{ name: 'x', cluster: { server: 'https://127.0.0.1:9' } }]
  const contexts = [{ name: 'x', context: { cluster: 'x', user: '' } }]
  const config = { apiVersion: 'v1', kind: 'Config', 'current-context': 'x', clusters, contexts, users: [] }
  await writeFile(file, JSON.stringify(config))
  const nowhere = [
    ['why', 'clusters/boston', '--hyperfleet-api-url=http://127.0.0.1:9'],
    ['pool', 'plan', 'edge', `--kubeconfig=${file}`],
    ['claim', 'kubeconfig', 'mine', `--kubeconfig=${file}`],
    ['security', 'check', `--kubeconfig=${file}`],
    ['fleet', 'drill', '--nats-url=nats://127.0.0.1:9', `--kubeconfig=${file}`],
    ['migrate', 'hive', '--dry-run', `--kubeconfig=${file}`],
    ['adapter', 'orphans', `--kubeconfig=${file}`],
    ['adapter', 'dead-letters', '--nats-url=nats://127.0.0.1:9'],
  ]
  const endings = await Promise.all(nowhere.map((args) => muster(args)))
  expect(endings.map(({ code }, at) => [nowhere[at]?.slice(0, 2).join(' '), code])).toEqual(
    nowhere.map((args) => [args.slice(0, 2).join(' '), 3]),
  )
  expect(endings.filter(({ output }) => !/^muster: .*127\.0\.0\.1:9/.test(output))).toEqual([])
})

test('the former name of a flag is taken, with a warning that names the new one, and not with another value beside it', async () => {
  const api = await serve({ entities })
  const { id } = await api.cluster('boston')
  await api.report(`/clusters/${id}`, { adapter: 'dns' })
  const { code, output } = await muster(['why', 'clusters/boston', `--api-url=${api.url}`])
  expect(code).toBe(0)
  expect(output).toContain(
    'muster: --api-url is the former name of --hyperfleet-api-url, and the next release knows it no more: write --hyperfleet-api-url\n',
  )
  expect(output).toContain(`Cluster boston (${id})`)
  const both = ['--api-url=http://127.0.0.1:1', `--hyperfleet-api-url=${api.url}`]
  expect(await muster(['why', 'clusters/boston', ...both])).toEqual({
    code: 2,
    output:
      'muster: --hyperfleet-api-url and --api-url are one flag, and have different values: write --hyperfleet-api-url alone',
  })
  expect(await muster(['why', 'clusters/boston', '--api-ur=x'])).toEqual({
    code: 2,
    output: 'muster: unknown flag --api-ur ("muster why --help" lists what is)',
  })
})

// ADAPTER-137
test.each([
  [
    'of the spec',
    'selektor: {}',
    'responses: []',
    "task.yaml can't be run: spec.selektor: an AdapterTask has no such field",
  ],
  [
    'within it',
    'events: { maxConcurent: 2 }',
    'responses: []',
    'spec.events.maxConcurent: an AdapterTask has no such field',
  ],
  [
    'of an answer',
    'suspend: false',
    'responses: [{ match: { urlPattern: ".*" }, responses: [{ status: 404 }] }]',
    'responses[0].responses[0].status is not known: write statusCode, headers, body',
  ],
  [
    'of a rule',
    'suspend: false',
    'responses: [{ match: { url: "x", urlPattern: ".*" }, responses: [] }]',
    'responses[0].match.url is not known: write method, urlPattern',
  ],
])('muster adapter dry-run refuses an unknown field %s', async (_, field, responses, said) => {
  const folder = await temporaryFolder('dry-run')
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const task = `apiVersion: hyperfleet.redhat.com/v1alpha1
kind: AdapterTask
metadata: { name: one }
spec:
  adapter: { name: one }
  resourceType: clusters
  ${field}
  params: []
`
  const data = { id: 'a', kind: 'Cluster', href: '/clusters/a' }
  const event = { specversion: '1.0', id: 'dry', type: 'com.redhat.hyperfleet.cluster.reconcile', data }
  const { code, output } = await muster([
    'adapter',
    'dry-run',
    `--task=${await write('task.yaml', task)}`,
    `--event=${await write('event.json', JSON.stringify(event))}`,
    `--api-responses=${await write('api.json', JSON.stringify(load(`{ ${responses} }`)))}`,
  ])
  expect({ code, output }).toEqual({ code: 2, output: expect.stringContaining(said) })
})

// SENTINEL-39
test('muster sentinel preview says what a spec gains and loses, and 1 that there is a gap', async () => {
  const api = await serve({ entities })
  const eu = (await api.cluster('one', { region: 'eu' })).id
  const us = (await api.cluster('two', { region: 'us' })).id
  const folder = await temporaryFolder('sentinel-preview')
  const write = async (name: string, region: string) => {
    const file = join(folder, `${name}.yaml`)
    await writeFile(
      file,
      `apiVersion: hyperfleet.redhat.com/v1alpha1
kind: SentinelConfig
metadata: { name: shard }
spec:
  resourceType: clusters
  hyperfleetAPI: { url: "${api.url}" }
  shardSelector: { matchLabels: { region: ${region} } }
`,
    )
    return file
  }
  const [current, next] = [await write('current', 'eu'), await write('next', 'us')]
  const { code, output } = await muster(['sentinel', 'preview', next, '--current', current])
  expect({ code, output: output.replaceAll(eu, 'EU').replaceAll(us, 'US') }).toEqual({
    code: 1,
    output: `shard
  selects 1 clusters (region=us): 0 ready, 1 not ready
  pulses a minute without reports: 6, now 6
  gains 1: US
  loses 1: EU
  overlaps: none
  gaps: 1: EU selected by no SentinelConfig`,
  })
  expect((await muster(['sentinel', 'preview', join(folder, 'none.yaml')])).code).toBe(2)
})

// SECURITY-32
test('attack: a SentinelConfig that is previewed names its author’s server as the API: it is not shown the token', async () => {
  const heard: string[] = []
  const server = createServer((request, response) => {
    heard.push(request.headers.authorization ?? 'none')
    response.setHeader('content-type', 'application/json').end('{"items":[],"total":0}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const folder = await temporaryFolder('sentinel-preview')
  const [file, token] = [join(folder, 'theirs.yaml'), join(folder, 'token')]
  await writeFile(token, 'the-token')
  await writeFile(
    file,
    `apiVersion: hyperfleet.redhat.com/v1alpha1
kind: SentinelConfig
metadata: { name: theirs }
spec:
  resourceType: clusters
  hyperfleetAPI: { url: "http://127.0.0.1:${(server.address() as AddressInfo).port}" }
`,
  )
  const { code, output } = await muster(['sentinel', 'preview', file, `--hyperfleet-api-token-file=${token}`])
  expect({ code, output }).toEqual({
    code: 2,
    output: expect.stringContaining('--hyperfleet-api-token-file: it needs --hyperfleet-api-url'),
  })
  expect(heard).toEqual([])
})
