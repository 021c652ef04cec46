/** Which viewers may look, asked of a real API server by a real manager. */
import http from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  accountOf,
  type ControlPlane,
  type MusterProcess,
  sharedControlPlane,
  startMuster,
} from '#test/harness/index.ts'
import { commandsWith, readPage } from '../docs/page.ts'

const PATIENCE = 60_000
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

let cluster: ControlPlane
let namespace: string
/** Of the Sentinel's ServiceAccount. */
let kubeconfig: string
let manager: MusterProcess
let url: string
const tokens = { viewer: '', stranger: '' }

const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  startMuster(
    [
      'manager',
      '--controllers=sentinel',
      `--kubeconfig=${kubeconfig}`,
      `--namespace=${namespace}`,
      '--metrics-bind-address=0',
      '--health-probe-bind-address=0',
      ...args,
    ],
    env,
  )

/** A token of a ServiceAccount for some servers; for the API server when none are named. */
const tokenFor = async (name: string, ...audiences: readonly string[]): Promise<string> => {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const spec = { expirationSeconds: 3_600, ...(audiences.length > 0 && { audiences }) }
  const { status } = await cluster.rest<{ status: { token: string } }>('POST', path, { spec })
  return status.token
}

/** A token for the dashboard, of a ServiceAccount that is made for it. */
const account = async (name: string): Promise<string> => {
  await cluster.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })
  return tokenFor(name, 'muster')
}

/** As a person makes one. The page has another account, in another namespace. */
const tokenByThePage = async (name: string): Promise<string> => {
  const command = commandsWith(await readPage('docs/dashboard.md'), 'create token muster-dashboard-viewer')
  const here = command.replace('muster-dashboard-viewer', name).replace('hyperfleet-system', namespace)
  return (await cluster.kubectl(...here.split(' ').slice(1))).trim()
}

beforeAll(async () => {
  cluster = await sharedControlPlane()
  namespace = await cluster.namespace('dashboard')
  const sentinel = await accountOf(cluster, 'sentinel', namespace)
  kubeconfig = await sentinel.kubeconfig()
  // As kustomize/components/dashboard binds it.
  await cluster.rest('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name: `${namespace}-asks` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:auth-delegator' },
    subjects: [{ kind: 'ServiceAccount', name: sentinel.name, namespace }],
  })
  await account('viewer')
  tokens.viewer = await tokenByThePage('viewer')
  tokens.stranger = await account('stranger')
  const name = `${namespace}-viewer`
  await cluster.rest('POST', `${RBAC}/clusterroles`, {
    metadata: { name },
    rules: [{ nonResourceURLs: ['/dashboard'], verbs: ['get'] }],
  })
  await cluster.rest('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: 'viewer', namespace }],
  })
  await cluster.rest('POST', `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${namespace}/sentinelconfigs`, {
    apiVersion: 'hyperfleet.redhat.com/v1alpha1',
    kind: 'SentinelConfig',
    metadata: { name: 'us-east' },
    spec: { resourceType: 'clusters', hyperfleetAPI: { url: 'http://127.0.0.1:9' } },
  })
  // As in a pod: even on its own address, a manager there asks viewers for a token.
  manager = await start(['--dashboard-bind=127.0.0.1:0'], { KUBERNETES_SERVICE_HOST: '10.0.0.1' })
  const { port, signIn } = await manager.line('serving the dashboard')
  expect(signIn).toBe(true)
  url = `http://127.0.0.1:${String(port)}`
}, 120_000)

afterAll(() => manager?.stop())

const get = (path: string, token?: string, headers: Record<string, string> = {}) =>
  fetch(url + path, {
    redirect: 'manual',
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
  })

describe('in a cluster', () => {
  // FLEET-57
  test('attack: a stranger looks at pages, figures and streams without a token: people are asked for one, programs are told', async () => {
    const page = await get('/')
    expect(page.status).toBe(401)
    expect(page.headers.get('www-authenticate')).toBe('Bearer')
    expect(await page.text()).toContain('<form class="sign-in"')
    for (const path of ['/index.json', '/sentinels.json', '/recovery.json', '/sentinels/x/y.json']) {
      const answer = await get(path)
      expect(answer.status).toBe(401)
      expect(await answer.json()).toMatchObject({ status: 401, message: expect.stringContaining('Bearer <token>') })
    }
    expect((await get('/sentinels', undefined, { accept: 'text/event-stream' })).status).toBe(401)
  })

  /** Whether the API server takes a token for itself. */
  const opensApiServer = async (token: string): Promise<boolean> => {
    const insecure = ['--kubeconfig=/dev/null', `--server=${cluster.server}`, '--insecure-skip-tls-verify']
    const answer = cluster.kubectl('auth', 'whoami', ...insecure, `--token=${token}`)
    return answer.then(
      () => true,
      () => false,
    )
  }

  test('RUNTIME-77: attack: a manager uses a token that a viewer has shown to it at the API server, as that viewer; it is shown none that works there', async () => {
    const { issuer } = JSON.parse(await cluster.kubectl('get', '--raw', '/.well-known/openid-configuration'))
    for (const token of [await tokenFor('viewer'), await tokenFor('viewer', 'muster', issuer)]) {
      expect(await opensApiServer(token)).toBe(true)
      const answer = await get('/index.json', token)
      expect([answer.status, await answer.json()]).toMatchObject([
        401,
        {
          message:
            'this token opens the API server too, so a manager that is shown it could act as you: make one with --audience=muster',
        },
      ])
      const body = new URLSearchParams({ token })
      const signIn = { method: 'POST', redirect: 'manual', headers: { origin: url }, body } as const
      expect((await fetch(`${url}/sign-in`, signIn)).status).toBe(401)
    }
    expect(await opensApiServer(tokens.viewer)).toBe(false)
    expect((await get('/index.json', tokens.viewer)).status).toBe(200)
    // Nor is one that is for another server.
    expect((await get('/', await tokenFor('viewer', 'hyperfleet-api'))).status).toBe(401)
  })

  test('a token that the API server does not know is no token', async () => {
    expect((await get('/', 'made-up')).status).toBe(401)
  })

  test('who is known but not allowed is told so, with the line that lets them in', async () => {
    const answer = await get('/', tokens.stranger)
    expect(answer.status).toBe(403)
    expect(await answer.text()).toContain(
      `kubectl create clusterrolebinding muster-dashboard-stranger --clusterrole=muster-dashboard-viewer --serviceaccount=${namespace}:stranger`,
    )
    expect((await get('/sentinels.json', tokens.stranger)).status).toBe(403)
  })

  // FLEET-57
  test('who may get the path /dashboard sees what the caches of the manager hold', async () => {
    await vi.waitFor(
      async () => {
        const answer = await get('/sentinels.json', tokens.viewer)
        expect(answer.status).toBe(200)
        expect(await answer.json()).toMatchObject({
          sentinels: { total: 1, rows: [{ key: `${namespace}/us-east`, resourceType: 'clusters' }] },
        })
      },
      { timeout: PATIENCE, interval: 250 },
    )
    const page = await get('/sentinels', tokens.viewer)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain(`system:serviceaccount:${namespace}:viewer`)
    // It runs no pools, and says so instead of showing none.
    expect(await (await get('/pools', tokens.viewer)).text()).toContain('does not run clusterpool')
  })

  test('a browser signs in by a form; its cookie holds no token, and signing out ends it', async () => {
    const signIn = (token: string, origin = url) =>
      fetch(`${url}/sign-in`, {
        method: 'POST',
        redirect: 'manual',
        headers: { origin },
        body: new URLSearchParams({ token }),
      })
    expect((await signIn('made-up')).status).toBe(401)
    expect((await signIn(tokens.viewer, 'https://elsewhere.example.org')).status).toBe(403)

    const signedIn = await signIn(tokens.viewer)
    expect(signedIn.status).toBe(303)
    const given = signedIn.headers.get('set-cookie') ?? ''
    expect(given).toMatch(/^muster-dashboard=[\w-]{32}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/)
    expect(given).not.toContain(tokens.viewer)
    const cookie = given.split(';')[0] ?? ''
    expect((await get('/', undefined, { cookie })).status).toBe(200)

    await fetch(`${url}/sign-out`, { method: 'POST', redirect: 'manual', headers: { origin: url, cookie } })
    expect((await get('/', undefined, { cookie })).status).toBe(401)
  })
})

test('on an address that others reach it speaks TLS, and asks as well', async () => {
  await using other = await start(['--dashboard-bind=0.0.0.0:0'])
  const { port } = await other.line('serving the dashboard')
  const answered = await new Promise<http.IncomingMessage>((resolve, reject) => {
    https.get(`https://127.0.0.1:${String(port)}/`, { rejectUnauthorized: false }, resolve).on('error', reject)
  })
  expect(answered.statusCode).toBe(401)
  expect(await text(answered)).toContain('<form class="sign-in"')
})

// FLEET-57
test('elsewhere than in a cluster it is open to this machine; a port that is taken is no failure unless it was asked for', async () => {
  const occupant = http.createServer()
  await new Promise<void>((resolve) => {
    occupant.once('error', () => resolve()).listen(8083, '127.0.0.1', resolve)
  })
  try {
    await using second = await start([])
    expect(await second.line('no dashboard is served')).toMatchObject({
      level: 'warn',
      problem: expect.stringContaining('127.0.0.1:8083 is taken by another process'),
    })
    await second.line('caches are filled')
  } finally {
    occupant.close()
  }
  await using open = await start([], { MUSTER_DASHBOARD_BIND: '127.0.0.1:0' })
  const { port, signIn } = await open.line('serving the dashboard')
  expect(signIn).toBe(false)
  expect((await fetch(`http://127.0.0.1:${String(port)}/`)).status).toBe(200)
  await using none = await start(['--dashboard-bind='])
  await none.line('caches are filled')
  expect(none.log().map(({ msg }) => msg)).not.toContain('serving the dashboard')
})
