/** What people can see of runs, and what they may not: docs/adapter-debugging.md. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { AdapterRun } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import { RunHistory } from '#controllers/adapter/runs/run-history.ts'
import { serveRuns } from '#controllers/adapter/runs/runs-server.ts'
import { createAuthority, signLeaf } from '#operator/admission/certificates.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { SideServer } from '#operator/serve.ts'
import { type AdapterWorld, adapterWorld, type Manager, namespaceAndConfig, PATIENCE } from './world.ts'

const IN_FILE = 'secret-of-the-token-file'
const IN_ENV = 'secret-of-the-environment'
const IN_OBJECT = 'secret-of-the-secret-object'

const runs = new RunHistory()
let folder: string
let world: AdapterWorld
let manager: Manager
let transport: Transport
let local: SideServer
let guarded: SideServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-runs-'))
  await writeFile(join(folder, 'token'), `${IN_FILE}\n`)
  process.env.MUSTER_TEST_SECRET = IN_ENV
  world = await adapterWorld()
  manager = await world.manager(undefined, { history: runs, files: [folder], variables: ['MUSTER_TEST_SECRET'] })
  transport = await world.plane.transport()
  const { namespace } = world
  const flag = '--adapter-runs-bind-address'
  local = await serveRuns({ runs, transport, flag, namespace, binding: { host: '127.0.0.1', port: 0 } })
  const certificate = await signLeaf(await createAuthority('runs', Date.now()), ['localhost'], Date.now())
  guarded = await serveRuns({ runs, transport, flag, namespace, binding: { host: '0.0.0.0', port: 0 }, certificate })
})

afterAll(async () => {
  await local?.stop()
  await guarded?.stop()
  await transport?.close()
  await world?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
  delete process.env.MUSTER_TEST_SECRET
})

const read = async (query: string): Promise<{ status: number; items: AdapterRun[]; message?: string }> => {
  const answer = await fetch(`http://127.0.0.1:${local.port}/adapter/runs${query}`)
  return { status: answer.status, ...((await answer.json()) as { items: AdapterRun[] }) }
}

const readGuarded = async (token: string | undefined, query = ''): Promise<{ status: number; body: string }> => {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  https
    .get(
      `https://localhost:${guarded.port}/adapter/runs${query}`,
      { rejectUnauthorized: false, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } },
      (answer) => void text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body })),
    )
    .on('error', reject)
  return promise
}

/** For the API server when no audience is named. */
const tokenOf = async (name: string, ...audiences: readonly string[]): Promise<string> => {
  const path = `/api/v1/namespaces/${world.namespace}/serviceaccounts/${name}/token`
  const spec = audiences.length > 0 ? { audiences } : {}
  const { status } = await world.plane.rest<{ status: { token: string } }>('POST', path, { spec })
  return status.token
}

describe('runs', () => {
  let id: string

  beforeAll(async () => {
    await world.declare('shown', namespaceAndConfig())
    await world.until('shown', 'Working')
    id = (await world.create('shown')).id
    await world.pulse(id)
    await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
  })

  test('are listed by task, resource and outcome, the newest first, with every step', async () => {
    // The cluster is Ready by the report of a run, a moment before the run is over.
    const first = await vi.waitFor(async () => {
      const found = (await read(`?task=shown&resource=${id}&status=success`)).items.at(-1)
      expect(found).toMatchObject({ namespace: world.namespace, task: 'shown', resource: id })
      return found
    }, PATIENCE)
    expect(first?.trace.resources.map(({ name, action }) => `${name} ${action}`)).toEqual([
      'namespace applied',
      'config applied',
    ])
    expect(first?.trace.report).toMatchObject({ adapter: `shown-${world.namespace.slice(-8)}` })
    expect((await read('?task=another')).items).toEqual([])
    expect((await read('?limit=1')).items).toHaveLength(1)
  })

  test('are in the status of the task, as kubectl describe shows it', async () => {
    await vi.waitFor(async () => {
      const described = await world.plane.kubectl('describe', 'adaptertask', 'shown', `--namespace=${world.namespace}`)
      expect(described).toMatch(new RegExp(`Last Runs:\\s+Mode: +apply\\s+Resource: +${id}\\s+Status: +success`))
    }, PATIENCE)
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulse(id, 'Deleting')
    await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
    await vi.waitFor(async () => {
      const { lastRuns = [] } = (await world.task('shown')).status ?? {}
      expect(lastRuns[0]).toMatchObject({ resource: id, mode: 'delete', status: 'success' })
      expect(lastRuns.length).toBeLessThanOrEqual(5)
    }, PATIENCE)
  })

  test('answer a wrong question with what to write instead', async () => {
    expect(await read('?tsak=x')).toMatchObject({ status: 400, message: 'tsak is no parameter: did you mean task?' })
    expect((await read('?status=good')).message).toBe('status is one of success, failed, skipped')
    expect((await read('?limit=0')).message).toBe('limit is a whole number from 1 to 200')
  })

  test('on loopback are not for pages that had their own name point here', async () => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
    const headers = { host: 'evil.example.com' }
    http
      .get(`http://127.0.0.1:${local.port}/adapter/runs`, { headers }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
      .on('error', reject)
    expect(await promise).toBe(403)
  })
})

describe('over the network', () => {
  test('runs are for accounts that may get adaptertasks/runs, and for no others', async () => {
    expect((await readGuarded(undefined)).status).toBe(401)
    expect((await readGuarded('not-a-token')).status).toBe(401)
    const { namespace } = world
    await world.plane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'reader' } })
    const token = await tokenOf('reader', 'muster')
    const refused = await readGuarded(token)
    expect(refused.status).toBe(403)
    expect(refused.body).toContain(
      `system:serviceaccount:${namespace}:reader may not get adaptertasks/runs.hyperfleet.redhat.com in ${namespace}`,
    )
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
    await world.plane.rest('POST', `${rbac}/roles`, {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: ['hyperfleet.redhat.com'], resources: ['adaptertasks/runs'], verbs: ['get'] }],
    })
    await world.plane.rest('POST', `${rbac}/rolebindings`, {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace }],
    })
    await vi.waitFor(async () => expect((await readGuarded(token)).status).toBe(200), PATIENCE)
    // RUNTIME-77
    const replayed = await readGuarded(await tokenOf('reader'))
    expect([replayed.status, replayed.body]).toEqual([401, expect.stringContaining('make one with --audience=muster')])
    // Another namespace is another question.
    expect((await readGuarded(token, '?namespace=default')).status).toBe(403)
  })
})

test('ADAPTER-53: secrets from a file, the environment and a Secret object stand in no trace, status, event, report or log', async () => {
  await world.declare('discreet', {
    params: [
      { name: 'clusterId', source: 'event.id', required: true },
      { name: 'token', source: { file: { path: join(folder, 'token'), trim: true } } },
      { name: 'password', source: 'env.MUSTER_TEST_SECRET' },
      { name: 'derived', source: { expression: '"user:" + token + ":" + env.MUSTER_TEST_SECRET' } },
    ],
    preconditions: [
      { name: 'noted', expression: 'true', log: { message: 'works with {{ .token }} and {{ .password }}' } },
    ],
    resources: [
      {
        name: 'credentials',
        manifest: {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'credentials-{{ .clusterId }}', namespace: world.namespace },
          stringData: { token: '{{ .token }}', own: IN_OBJECT },
        },
        discovery: { namespace: world.namespace, by_name: 'credentials-{{ .clusterId }}' },
      },
      {
        name: 'refused',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'NO {{ .derived }} {{ .resources.credentials.data.own }}', namespace: world.namespace },
        },
        discovery: { namespace: world.namespace, by_name: 'refused-{{ .clusterId }}' },
      },
    ],
    post: {
      payloads: [{ name: 'note', build: { of: '{{ .derived }}', data: { expression: 'resources.credentials.data' } } }],
      post_actions: [
        { name: 'call', api_call: { url: '/clusters/{{ .clusterId }}?token={{ .token }}', retry_attempts: 1 } },
      ],
    },
  })
  await world.until('discreet', 'Working')
  const { id } = await world.create('discreet')
  await world.pulse(id)
  await vi.waitFor(async () => expect((await read('?task=discreet&status=failed')).items).not.toEqual([]), PATIENCE)
  await vi.waitFor(async () => expect((await world.task('discreet')).status?.failing).toBe(1), PATIENCE)
  const path = `/api/v1/namespaces/${world.namespace}/secrets/credentials-${id}`
  const made = await world.plane.rest<{ data: Record<string, string> }>('GET', path)
  expect(Buffer.from(made.data.token ?? '', 'base64').toString()).toBe(IN_FILE)

  const { items } = await read('?task=discreet')
  const params = items[0]?.trace.params
  expect(params).toContainEqual({ name: 'token', value: '(hidden)' })
  expect(params).toContainEqual({ name: 'password', value: '(hidden)' })
  expect(params).toContainEqual({ name: 'derived', value: 'user:(hidden):(hidden)' })
  const events = await world.plane.rest('GET', `/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`)
  const reports = await world.call('GET', `/clusters/${id}/statuses`)
  expect(JSON.stringify(events)).toContain('RunFailed')
  expect(manager.lines.join('\n')).toContain('works with (hidden) and (hidden)')
  const isReported = JSON.stringify([items, (await world.task('discreet')).status, events, reports, manager.lines])
  for (const secret of [IN_FILE, IN_ENV, IN_OBJECT]) {
    expect(isReported).not.toContain(secret)
    expect(isReported).not.toContain(Buffer.from(secret).toString('base64'))
  }
})
