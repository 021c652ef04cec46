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
