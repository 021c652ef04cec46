import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { TASK_ACCOUNTS } from '#hack/muster/managers.ts'
import { apiVersionOf, pathOf } from '#operator/model/resource.ts'
import { type MusterProcess, type OwnControlPlane, RestError } from '#test/harness/index.ts'
import { deliveredCluster, NAMESPACE, servingWebhook } from './delivered-webhook.ts'

const PATIENCE = { timeout: 60_000, interval: 200 }

let cluster: OwnControlPlane
let manager: MusterProcess

beforeAll(async () => {
  cluster = await deliveredCluster()
  await cluster.rest('POST', TASKS, document(BAD, 'earlier'))
  // A wide address asks for the rights of kustomize/components/adapter-runs, which come with the overlay.
  manager = await servingWebhook(
    cluster,
    'adapter',
    '--adapter-runs-bind-address=:0',
    '--deny-invalid-tasks',
    `--adapter-accounts-namespace=${TASK_ACCOUNTS}`,
    '--hyperfleet-api-url=http://hyperfleet-api:8000',
  )
  // The API server learns of the certificate by a watch of its own.
  await vi.waitUntil(async () => (await answer(GOOD)) === 'accepted', PATIENCE)
})

afterAll(async () => {
  await manager?.stop()
  await cluster?.stop()
})

const TASKS = pathOf(AdapterTask, { namespace: NAMESPACE })
const RESOURCE = {
  name: 'config',
  manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c-{{ .clusterId }}', namespace: 'x' } },
  discovery: { namespace: 'x', by_name: 'c-{{ .clusterId }}' },
}
const GOOD = { params: [{ name: 'clusterId', source: 'event.id' }], resources: [RESOURCE] }
const BAD = { params: [{ name: 'clusterId', source: 'evnet.id' }], resources: [RESOURCE] }

const document = (task: object, name: string) => ({
  apiVersion: apiVersionOf(AdapterTask),
  kind: AdapterTask.kind,
  metadata: { name },
  spec: {
    adapter: { name: 'judged' },
    resourceType: 'clusters',
    hyperfleetAPI: { url: 'http://hyperfleet-api:8000' },
    suspend: true,
    ...task,
  },
})

/** What the API server answers to one more task; nothing is kept. */
const answer = (task: object): Promise<string> =>
  said(() => cluster.rest('POST', `${TASKS}?dryRun=All`, document(task, 'one-more')))

const said = async (ask: () => Promise<unknown>): Promise<string> => {
  try {
    await ask()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof RestError)) throw error
    const { message }: { message: string } = JSON.parse(error.message.slice(error.message.indexOf('{')))
    return message.replace('admission webhook "task.adapter.hyperfleet.redhat.com" denied the request: ', '')
  }
}

test.for([
  [
    'a name that is unknown',
    BAD,
    'spec: params[0].source: there is no evnet.id to take the value from: did you mean event.id?',
  ],
  ['an expression of another type', { ...GOOD, when_deleting: '"yes"' }, 'spec: when_deleting: '],
  [
    'a template with a mistake',
    { ...GOOD, resources: [{ ...RESOURCE, manifest: 'kind: {{ .clusterID }}' }] },
    'spec: resources[0].manifest: there is no variable clusterID: did you mean clusterId?',
  ],
  [
    'an order of deletion that ends nowhere',
    { ...GOOD, resources: [{ ...RESOURCE, delete_options: { after: ['config'] } }] },
    'spec: resources[0].delete_options.after: ',
  ],
  [
    'a child before its parent',
    {
      ...GOOD,
      resources: [
        RESOURCE,
        {
          name: 'ns',
          manifest: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } },
          discovery: { by_name: 'x' },
        },
      ],
    },
    'spec: resources[0]: config is in the namespace that ns makes: list ns before it',
  ],
] as const)('%s is refused when it is applied, with its place and what to write', async ([, task, message]) => {
  expect(await answer(task)).toContain(message)
})

test('what is right is taken, and so is a task in a ConfigMap, which is judged later', async () => {
  expect(await answer(GOOD)).toBe('accepted')
  expect(await answer({ taskRef: { name: 'nowhere' } })).toBe('accepted')
})

test('one that was bad before can be labelled, corrected and deleted; it says InvalidTask meanwhile', async () => {
  await vi.waitFor(async () => {
    const { status } = await cluster.rest<AdapterTask>('GET', `${TASKS}/earlier`)
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.reason).toBe('InvalidTask')
  }, PATIENCE)
  const patch = (body: object) => said(() => cluster.rest('PATCH', `${TASKS}/earlier`, body))
  expect(await patch({ metadata: { labels: { team: 'one' } } })).toBe('accepted')
  expect(await patch({ spec: { suspend: false } })).toContain('did you mean event.id?')
  expect(await patch({ spec: GOOD })).toBe('accepted')
  await cluster.rest('DELETE', `${TASKS}/earlier`)
})

test('it asks about readers of runs with rights that it has', async () => {
  expect(await manager.line('serving runs of adapter tasks')).toMatchObject({})
})

/** Sends bytes to the webhook as anything in the cluster's network can; what it answers. */
const send = async (
  url: string,
  body: string,
): Promise<{ readonly code: number | undefined; readonly said: string }> => {
  const asked = request(url, { method: 'POST', rejectUnauthorized: false, agent: false })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage | undefined>()
  asked.on('response', resolve)
  // What is too long is answered before all of it was read: the rest is written to a connection that is closed, and the answer is lost.
  asked.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? resolve(undefined) : reject(error)))
  asked.end(body)
  const response = await promise
  return response === undefined ? { code: 413, said: '' } : { code: response.statusCode, said: await text(response) }
}

test('attack: a stranger sends reviews to the webhook itself: nothing is written, no server of theirs is asked, and the API server goes on to have its answers', async () => {
  const sockets: Socket[] = []
  const own = createServer((socket) => sockets.push(socket))
  await once(own.listen(0, '127.0.0.1'), 'listening')
  try {
    const theirs = `http://127.0.0.1:${(own.address() as AddressInfo).port}`
    type Configuration = { webhooks: { clientConfig: { url: string } }[] }
    const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
    const configuration = await cluster.rest<Configuration>('GET', `${webhooks}/hyperfleet-adapter-webhook`)
    const { url } = configuration.webhooks[0]?.clientConfig ?? { url: '' }
    /** Everything that a manager of tasks may write, by its version. */
    const written = async () => {
      const kinds = 'adaptertasks,adapterinventories,configmaps,secrets,validatingwebhookconfigurations,events'
      const path = '-o=jsonpath={range .items[*]}{.kind}/{.metadata.name}@{.metadata.resourceVersion} {end}'
      return cluster.kubectl('get', kinds, '--namespace', NAMESPACE, path)
    }
    const before = await written()
    const review = (operation: string, object: object | null, uid: unknown = 'theirs') => ({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid,
        operation,
        object,
        oldObject: object,
        userInfo: { username: 'admin', groups: ['system:masters'] },
      },
    })
    const elsewhere = { url: theirs, tokenPath: '/var/run/secrets/hyperfleet/token' }
    const task = {
      ...document(GOOD, 'theirs'),
      metadata: { name: 'theirs', namespace: NAMESPACE, finalizers: ['a/b'] },
    }
    const leading = { ...task, spec: { ...task.spec, suspend: false, hyperfleetAPI: elsewhere } }
    const endless = 'lists.range(10000).all(a, lists.range(10000).all(b, lists.range(10000).all(c, true))) ? "a" : "b"'
    const params = [{ name: 'clusterId', source: { expression: endless } }]
    const stalling = { ...task, spec: { ...task.spec, params } }
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    const bodies = [
      ...['CREATE', 'UPDATE', 'DELETE', 'CONNECT'].flatMap((operation) =>
        [leading, stalling, null].map((object) => JSON.stringify(review(operation, object))),
      ),
      JSON.stringify(review('CREATE', task, { toString: 'x' })),
      JSON.stringify(review('CREATE', task)).replace('"spec":{', `"spec":{"deep":${deep},`),
      'no JSON',
      `"${'x'.repeat(4 * 1024 * 1024)}"`,
    ]
    const answers = await Promise.all([...bodies, ...bodies].map((body) => send(url, body)))
    expect(answers.map(({ code }) => code).filter((code) => ![200, 400, 413].includes(code ?? 0))).toEqual([])
    expect(Math.max(...answers.map(({ said }) => said.length))).toBeLessThan(16_384)
    for (const path of ['/validate/sentinel', '/metrics', '/adapter/runs'])
      expect((await send(new URL(path, url).href, JSON.stringify(review('CREATE', task)))).code).toBe(404)
    expect(await answer(GOOD)).toBe('accepted')
    expect(await answer(BAD)).toContain('did you mean event.id?')
    expect(await written()).toBe(before)
    expect(sockets).toEqual([])
  } finally {
    for (const socket of sockets) socket.destroy()
    own.close()
  }
})
