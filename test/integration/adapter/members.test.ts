/** Several Kubernetes clusters with one API: their API servers all call themselves https://kubernetes.default.svc. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { TASK_ACCOUNTS, TASK_WORK } from '#hack/muster/managers.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, startControlPlane, startMuster } from '#test/harness/index.ts'
import { type Json, requestTo } from '../hyperfleet-api/support.ts'

const NAMES = ['boston', 'chicago', 'stranger'] as const
type Name = (typeof NAMES)[number]

const ACCOUNT = 'system:serviceaccount:default:default'
const planes = new Map<Name, OwnControlPlane>()
let folder: string

beforeAll(async () => {
  folder = await temporaryFolder('members')
  for (const name of NAMES) {
    const plane = await startControlPlane({ crds: false, parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
    planes.set(name, plane)
    await writeFile(join(folder, `${name}.jwks`), await plane.kubectl('get', '--raw', '/openid/v1/jwks'))
  }
}, 180_000)

afterAll(async () => {
  for (const plane of planes.values()) await plane.stop()
}, 60_000)

/** A token of the same account in each cluster, for the API. The account comes a moment after its namespace. */
const tokenOf = (name: Name): Promise<string> =>
  vi.waitFor(async () => {
    const plane = planes.get(name) as OwnControlPlane
    return (await plane.kubectl('create', 'token', 'default', '--audience=hyperfleet-api')).trim()
  }, 30_000)

const member = (name: Name, file: string = name) => ({
  issuer_url: 'https://kubernetes.default.svc',
  name,
  audience: 'hyperfleet-api',
  jwk_cert_file: join(folder, `${file}.jwks`),
  role_mappings: [{ subject: ACCOUNT, roles: ['adapter'], adapters: [`${name}-*`] }],
})

const serve = async (configs: readonly object[]) => {
  const config = join(folder, 'config.json')
  await writeFile(config, JSON.stringify({ server: { jwt: { configs } } }))
  const addresses = ['--bind-address=127.0.0.1:0', '--metrics-bind-address=0', '--health-probe-bind-address=0']
  return startMuster(['api', ...addresses, `--data-dir=${await temporaryFolder('data')}`, `--config=${config}`])
}

const report = (adapter: string) => ({
  adapter,
  observed_generation: 1,
  conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' })),
})

// API-136
test('attack: a member’s account of the same name passes for another member’s: a token is that of the cluster whose key has signed it', async () => {
  const admin = {
    ...member('boston'),
    role_mappings: [{ subject: ACCOUNT, roles: ['adapter', 'editor'], adapters: ['boston-*'] }],
  }
  await using api = await serve([admin, member('chicago')])
  const { url } = await api.line('the HyperFleet API is serving')
  const call = requestTo(`${String(url)}/api/hyperfleet/v1`)
  const as = async (name: Name) => ({ authorization: `Bearer ${await tokenOf(name)}` })
  const { status, body } = await call('POST', '/clusters', { name: 'one', spec: {} }, await as('boston'))
  expect([status, body.created_by]).toEqual([201, `boston/${ACCOUNT}`])
  const put = async (name: Name, adapter: string) =>
    (await call('PUT', `/clusters/${body.id}/statuses`, report(adapter), await as(name))).status
  expect({
    own: [await put('boston', 'boston-dns'), await put('chicago', 'chicago-dns')],
    others: [await put('boston', 'chicago-dns'), await put('chicago', 'boston-dns')],
    editor: (await call('POST', '/clusters', { name: 'two', spec: {} }, await as('chicago'))).status,
    stranger: await put('stranger', 'boston-dns'),
  }).toEqual({ own: [201, 201], others: [403, 403], editor: 403, stranger: 401 })
  // API-155
  const told = await api.line(({ msg, who }) => msg === 'audit: refused' && who === `chicago/${ACCOUNT}`)
  expect(told).toMatchObject({ operation: 'putStatusCluster', status: 403 })
}, 120_000)

// API-136
test('two members with the keys of one place are refused at the start', async () => {
  await using api = await serve([member('boston'), member('chicago', 'boston')])
  const { code } = await api.exited
  expect([code, api.output().replaceAll(folder, '')]).toMatchInlineSnapshot(`
    [
      2,
      "muster: --config: /config.json: server.jwt: two issuers are https://kubernetes.default.svc with keys of one place, /boston.jwks: leave one out, or give each cluster the keys of its own API server",
    ]
  `)
}, 60_000)

// API-155
test('two members without a name are refused at the start: their accounts would be alike', async () => {
  const nameless = (name: Name) => ({ ...member(name), name: undefined })
  await using api = await serve([nameless('boston'), nameless('chicago')])
  const { code } = await api.exited
  expect([code, api.output().replaceAll(folder, '')]).toMatchInlineSnapshot(`
    [
      2,
      "muster: --config: /config.json: server.jwt: two issuers are https://kubernetes.default.svc without a name of their own: their callers would be alike in created_by and in the audit log; write a name beside issuer_url, such as that of the cluster",
    ]
  `)
}, 60_000)

const NAMESPACE = 'hyperfleet-system'
const MEMBERS = ['boston', 'chicago'] as const

/** What a member declares: a task of its own name, for the clusters that are its, and the account that the task acts as. */
const declared = (name: Name, url: string) => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: `${name}-note`, namespace: TASK_ACCOUNTS } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: `${name}-note`, namespace: TASK_WORK },
    rules: [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: `${name}-note`, namespace: TASK_WORK },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: `${name}-note` },
    subjects: [{ kind: 'ServiceAccount', name: `${name}-note`, namespace: TASK_ACCOUNTS }],
  },
  {
    apiVersion: 'hyperfleet.redhat.com/v1alpha1',
    kind: 'AdapterTask',
    metadata: { name: `${name}-note`, namespace: NAMESPACE },
    spec: {
      adapter: { name: `${name}-note` },
      resourceType: 'clusters',
      selector: { matchLabels: { member: name } },
      hyperfleetAPI: { url },
      serviceAccountName: `${name}-note`,
      resources: [
        {
          name: 'note',
          manifest: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: 'note-{{ .resource.name }}', namespace: TASK_WORK },
            data: { from: name },
          },
          discovery: { namespace: TASK_WORK, by_name: 'note-{{ .resource.name }}' },
        },
      ],
    },
  },
]

/** Of the hub's API: what each member's accounts may do there. */
const memberOfHub = (name: Name) => ({
  ...member(name),
  role_mappings: [
    { subject: `system:serviceaccount:${NAMESPACE}:hyperfleet-adapter`, roles: ['reader'] },
    {
      subject: `system:serviceaccount:${TASK_ACCOUNTS}:${name}-note`,
      roles: ['adapter'],
      adapters: [`${name}-note`],
      consumers: [`${NAMESPACE}-${name}-note-*`],
    },
    // Stands for the hub's own callers and its Sentinel.
    ...(name === 'boston' ? [{ subject: ACCOUNT, roles: ['editor', 'adapter'] }] : []),
  ],
})

// GITOPS-31
test('each member does its own clusters of the hub, as it is delivered, and reports in its own name', async () => {
  await using api = await serve(MEMBERS.map(memberOfHub))
  const url = String((await api.line('the HyperFleet API is serving')).url)
  const call = requestTo(`${url}/api/hyperfleet/v1`)
  const hub = { authorization: `Bearer ${await tokenOf('boston')}` }
  await using managers = new AsyncDisposableStack()
  for (const name of MEMBERS) {
    const plane = planes.get(name) as OwnControlPlane
    await plane.kubectl('apply', '--server-side', '-k', 'kustomize/overlays/member')
    await plane.kubectl('wait', '--for=condition=Established', 'crd/adaptertasks.hyperfleet.redhat.com')
    const file = join(folder, `${name}.json`)
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: declared(name, url) }))
    await plane.kubectl('apply', '-f', file)
    const tokenFile = join(folder, `${name}.token`)
    const account = ['hyperfleet-adapter', `--namespace=${NAMESPACE}`, '--audience=hyperfleet-api']
    await writeFile(tokenFile, await plane.kubectl('create', 'token', ...account))
    const kubeconfig = await plane.kubeconfigFor('hyperfleet-adapter', NAMESPACE)
    managers.use(
      await startMuster([
        'manager',
        '--controllers=adapter',
        `--namespace=${NAMESPACE}`,
        `--kubeconfig=${kubeconfig}`,
        '--metrics-bind-address=0',
        '--health-probe-bind-address=0',
        '--adapter-token-audience=hyperfleet-api',
        `--adapter-accounts-namespace=${TASK_ACCOUNTS}`,
        `--hyperfleet-api-url=${url}`,
        `--hyperfleet-api-token-file=${tokenFile}`,
      ]),
    )
  }
  const clusters: Json[] = []
  for (const name of MEMBERS) {
    const draft = { name: `of-${name}`, labels: { member: name }, spec: {} }
    clusters.push((await call('POST', '/clusters', draft, hub)).body)
  }
  const statusesOf = async ({ id }: Json): Promise<readonly Json[]> =>
    (await call('GET', `/clusters/${id}/statuses`, undefined, hub)).body.items
  await vi.waitFor(
    async () => {
      for (const { id } of clusters)
        await call('POST', '/events', { resourceType: 'clusters', resourceId: id, reason: 'Test' }, hub)
      for (const cluster of clusters)
        expect((await call('GET', `/clusters/${cluster.id}`, undefined, hub)).body.status.phase).toBe('Ready')
    },
    { timeout: 60_000, interval: 500 },
  )
  const reporters = await Promise.all(clusters.map(statusesOf))
  expect(reporters.map((items) => items.map(({ adapter }) => adapter))).toEqual([['boston-note'], ['chicago-note']])
  for (const name of MEMBERS) {
    const plane = planes.get(name) as OwnControlPlane
    const found = await plane.kubectl('get', 'configmaps', '-n', TASK_WORK, '-o', 'name')
    expect(found.match(/note-of-\w+/g)).toEqual([`note-of-${name}`])
  }
}, 240_000)
