import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { type AdapterWorld, adapterWorld, type Manager, namespaceAndConfig, PATIENCE } from './world.ts'

let world: AdapterWorld
let manager: Manager

beforeAll(async () => {
  world = await adapterWorld()
  manager = await world.manager()
})

afterAll(async () => {
  await world[Symbol.asyncDispose]()
})

const remove = async (name: string) => {
  await world.kube.delete(AdapterTask, name, world.namespace)
}
/** A task file of the Go adapter as it is, out of a ConfigMap; resolves when the task works. */
const declareFile = async (name: string, file: string) => {
  const text = await readFile(`controllers/adapter/testdata/${file}.yaml`, 'utf8')
  await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, {
    metadata: { name: file, labels: { 'muster.dev/task-account': 'everything' } },
    data: { 'task-config.yaml': text },
  })
  await world.declare(name, { taskRef: { name: file } })
  await world.until(name, 'Working')
}
const events = async (reason: string) => {
  const { items } = await world.plane.rest<{ items: { reason: string; note: string }[] }>(
    'GET',
    `/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`,
  )
  return items.filter((item) => item.reason === reason).map(({ note }) => note)
}

test('ADAPTER-132: a refused request names the ServiceAccount of the task that is not there, and no longer once it is made', async () => {
  await world.declare('unaccounted', { ...namespaceAndConfig(), serviceAccountName: 'absent' })
  const { id } = await world.create('unaccounted')
  const messages = async () => (await world.task('unaccounted')).status?.lastRuns?.map(({ message }) => message) ?? []
  const missing = `the ServiceAccount absent is not there: make it in the namespace ${world.accounts}`
  await world.pulsedUntil(id, async () => expect(await messages()).toContainEqual(expect.stringContaining(missing)))
  await world.plane.rest('POST', `/api/v1/namespaces/${world.accounts}/serviceaccounts`, {
    metadata: { name: 'absent' },
  })
  await world.pulsedUntil(id, async () => {
    const [last] = await messages()
    expect(last).toContain('is forbidden')
    expect(last).not.toContain('is not there')
  })
  await remove('unaccounted')
})

test('ADAPTER-83: the manager says which expressions can’t have a value, also of a task out of a ConfigMap, and runs it', async () => {
  const file = `
params: [{name: clusterId, source: event.id, required: true}]
preconditions: [{name: zone, expression: "true || env.ZONE == 'a'"}]
resources:
  - name: one
    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: "valueless-{{ .clusterId }}", namespace: ${world.namespace}}}
    discovery: {namespace: ${world.namespace}, by_name: "valueless-{{ .clusterId }}"}
`
  await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, {
    metadata: { name: 'valueless', labels: { 'muster.dev/task-account': 'everything' } },
    data: { 'task-config.yaml': file },
  })
  await world.declare('valueless', { taskRef: { name: 'valueless' } })
  await world.until('valueless', 'Working')
  await vi.waitFor(
    async () =>
      expect(await events('NeverAValue')).toEqual([expect.stringMatching(/^preconditions\[0\]\.expression: .*ZONE/)]),
    PATIENCE,
  )
  await remove('valueless')
})

describe('ADAPTER-57: a task that can’t be run', () => {
  test('says where and what to write, as a condition and an event; corrected, it works', async () => {
    await world.declare('broken', {
      params: [{ name: 'clusterId', source: 'evnet.id' }],
      resources: namespaceAndConfig().resources,
    })
    const { status } = await world.until('broken', 'InvalidTask')
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    expect(ready).toMatchObject({ status: 'False' })
    expect(ready?.message).toBe(
      'params[0].source: there is no evnet.id to take the value from: did you mean event.id?; nothing is done until it is corrected',
    )
    await vi.waitFor(async () => expect(await events('InvalidTask')).toHaveLength(1), PATIENCE)
    await world.change('broken', namespaceAndConfig())
    await world.until('broken', 'Working')
    await remove('broken')
  })

  test('ADAPTER-52: a token file that is not listed is refused: a task must not send the manager’s own secrets anywhere', async () => {
    const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount/token'
    await world.declare('greedy', { ...namespaceAndConfig(), hyperfleetAPI: { url: world.url, tokenPath } })
    const { status } = await world.until('greedy', 'InvalidTask')
    expect(status?.conditions?.[0]?.message).toContain("it is in the folder of the manager's token")
    await remove('greedy')
  })
})

test('ADAPTER-31: a discovery whose name is empty once it is rendered is a failure: it never means all objects of the kind', async () => {
  const classes = '/apis/networking.k8s.io/v1/ingressclasses'
  const bystander = `bystander-${world.namespace}`
  await world.plane.rest('POST', classes, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: bystander },
    spec: { controller: 'example.com/controller' },
  })
  await world.declare('nameless', {
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [
      {
        name: 'class',
        manifest: {
          apiVersion: 'networking.k8s.io/v1',
          kind: 'IngressClass',
          metadata: { name: 'class-{{ .clusterId }}' },
          spec: { controller: 'example.com/controller' },
        },
        discovery: { by_name: '{{ .resource.spec.class }}' },
      },
    ],
  })
  await world.until('nameless', 'Working')
  const { id } = await world.create('nameless', { class: '' })
  await world.pulse(id)
  await vi.waitFor(async () => expect(await world.reported(id, 'nameless')).not.toEqual([]), PATIENCE)
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id)
  await vi.waitFor(async () => {
    const reported = await world.reported(id, 'nameless')
    expect(reported).not.toContain('Finalized False NotDeleting')
  }, PATIENCE)
  expect(await world.object(`${classes}/${bystander}`)).toBeDefined()
  expect(await world.reported(id, 'nameless')).toContain('Health False DiscoveryFailed')
  await world.plane.rest('DELETE', `${classes}/${bystander}`)
  await remove('nameless')
})

test('ADAPTER-51: a task may do what its ServiceAccount may do and no more: refused, reported, and nothing is there', async () => {
  await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/serviceaccounts`, {
    metadata: { name: 'nothing' },
  })
  await world.declare('powerless', { ...namespaceAndConfig(), serviceAccountName: 'nothing' })
  await world.until('powerless', 'Working')
  const { id } = await world.create('powerless')
  await world.pulse(id)
  await vi.waitFor(
    async () =>
      expect(await world.reported(id, 'powerless')).toEqual([
        'Applied False Forbidden',
        'Available False Forbidden',
        'Health False Forbidden',
        'Finalized False NotDeleting',
      ]),
    PATIENCE,
  )
  expect(await world.object(`/api/v1/namespaces/c-${id}`)).toBeUndefined()
  await vi.waitFor(async () => expect((await world.task('powerless')).status).toMatchObject({ failing: 1 }), PATIENCE)
  expect((await events('RunFailed')).find((note) => note.startsWith(id))).toContain('system:serviceaccount')
  // ADAPTER-136
  await world.until('powerless', 'Forbidden')
  await remove('powerless')
})

test('ADAPTER-59: a suspended task starts no run; what waited is done when it goes on', async () => {
  await world.declare('paused', namespaceAndConfig())
  await world.until('paused', 'Working')
  await world.change('paused', { suspend: true })
  await world.until('paused', 'Suspended')
  const { id } = await world.create('paused')
  await world.pulse(id)
  await world.change('paused', { suspend: false })
  await vi.waitFor(async () => expect(await world.reported(id, 'paused')).toContain('Applied True Applied'), PATIENCE)
  await remove('paused')
})

test('ADAPTER-58: a task file of the Go adapter runs unchanged out of a ConfigMap: created, reported by itself, deleted by its own conditions', async () => {
  await declareFile('go-adapter', 'go-adapter-lifecycle')
  const { id } = await world.create('go-adapter')
  await world.pulse(id)
  await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
  expect(await world.object(`/api/v1/namespaces/${id}/configmaps/config`)).toMatchObject({
    data: { region: 'nowhere', name: 'go-adapter' },
  })
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id, 'Deleting')
  await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
  expect(await world.object(`/api/v1/namespaces/${id}`)).toBeUndefined()
  await remove('go-adapter')
})

describe('managers come and go', () => {
  test('ADAPTER-50: of two one works; when it goes the other one finishes the deletion that was under way', async () => {
    await world.declare('relay', namespaceAndConfig())
    await world.until('relay', 'Working')
    const { id } = await world.create('relay')
    await world.pulse(id)
    await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
    const config = `/api/v1/namespaces/c-${id}/configmaps/config`
    await world.plane.rest('PATCH', config, { metadata: { finalizers: ['example.com/hold'] } })
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulse(id, 'Deleting')
    await vi.waitFor(async () => expect(await world.reported(id, 'relay')).toContain('Applied True Deleting'), PATIENCE)

    const second = await world.manager()
    expect(second.lines.filter((line) => line.includes('a run ended'))).toEqual([])
    await manager.stop()
    await world.plane.rest('PATCH', config, { metadata: { finalizers: null } })
    await world.until('relay', 'Working')
    // It went unseen: the next pulse makes the second one look.
    await world.pulse(id, 'Again')
    await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
  })
})

/** Open Cluster Management's, as far as it is looked at here. */
const MANIFEST_WORK_CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'manifestworks.work.open-cluster-management.io' },
  spec: {
    group: 'work.open-cluster-management.io',
    names: { plural: 'manifestworks', kind: 'ManifestWork' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        subresources: { status: {} },
      },
    ],
  },
}

test('ADAPTER-58: the Go adapter’s task file with a ManifestWork runs unchanged: what its status says of the objects inside is reported', async () => {
  await world.plane.rest('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', MANIFEST_WORK_CRD)
  const target = await world.plane.namespace('target')
  await declareFile('work', 'go-adapter-manifestwork')
  const { id } = await world.create('work', { placement: target })
  await world.pulse(id)
  const work = `/apis/work.open-cluster-management.io/v1/namespaces/${target}/manifestworks/work-${id}`
  await vi.waitFor(async () => expect(await world.object(work)).toBeDefined(), PATIENCE)
  await world.plane.rest('PATCH', `${work}/status`, {
    status: {
      resourceStatus: {
        manifests: [
          {
            resourceMeta: { version: 'v1', kind: 'Namespace', name: id },
            conditions: [{ type: 'Available', status: 'True' }],
            statusFeedback: { values: [{ name: 'phase', fieldValue: { type: 'String', string: 'Active' } }] },
          },
        ],
      },
    },
  })
  // There is no pulse: the work is watched.
  await vi.waitFor(async () => {
    const reports = await world.call<{ items: { data?: object }[] }>('GET', `/clusters/${id}/statuses`)
    expect(reports?.items.map(({ data }) => data)).toContainEqual({ phase: 'Active' })
  }, PATIENCE)
  expect(await world.reported(id, 'work')).toContain('Available True undefined')
  await remove('work')
})
