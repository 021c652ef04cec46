import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld, type Condition, type Manager, PATIENCE } from './world.ts'

let plane: OwnControlPlane
let world: AdapterWorld
let manager: Manager

/** Jobs complete where there are nodes. */
beforeAll(async () => {
  plane = await startControlPlane({
    parts: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'],
  })
  await plane.rest('POST', '/api/v1/nodes', { metadata: { name: 'muster-0', labels: { type: 'kwok' } } })
  world = await adapterWorld({ plane })
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await plane?.stop()
})

test('a Job: Unknown while it runs, Ready as soon as it is complete, without another pulse', async () => {
  await world.declare('validate', {
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [
      {
        name: 'job',
        manifest: {
          apiVersion: 'batch/v1',
          kind: 'Job',
          metadata: { name: 'validate-{{ .clusterId }}', namespace: world.namespace },
          spec: {
            template: {
              spec: { restartPolicy: 'OnFailure', containers: [{ name: 'validate', image: 'example.com/validate' }] },
            },
          },
        },
        discovery: { namespace: world.namespace, by_name: 'validate-{{ .clusterId }}' },
      },
    ],
  })
  manager = await world.manager()
  await world.until('validate', 'Working')
  const { id } = await world.create('validated')
  await world.pulse(id)
  await vi.waitFor(async () => expect(await world.reported(id, 'validate')).toContain('Applied True Applied'), PATIENCE)
  await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
  expect(await world.reported(id, 'validate')).toContain('Available True Available')

  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id, 'Deleting')
  await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
  const jobs = `/apis/batch/v1/namespaces/${world.namespace}/jobs/validate-${id}`
  expect(await world.object(jobs)).toBeUndefined()
})

const countRuns = async (): Promise<number> => {
  const metric = manager.registry.getSingleMetric('hyperfleet_adapter_events_processed_total')
  return ((await metric?.get())?.values ?? []).reduce((sum, { value }) => sum + value, 0)
}

const availableOf = async (id: string, task: string): Promise<Condition | undefined> => {
  const statuses = await world.call<{ items: { adapter: string; conditions: Condition[] }[] }>(
    'GET',
    `/clusters/${id}/statuses`,
  )
  const reported = statuses?.items.find(({ adapter }) => adapter.startsWith(`${task}-`))
  return reported?.conditions.find(({ type }) => type === 'Available')
}

test('CLUSTER-94: a Job whose pod a quota refuses, and then no node takes, is reported so in Kubernetes’ words, and is Ready once there is room', {
  timeout: 120_000,
}, async () => {
  const { plane, namespace } = world
  const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`
  await plane.rest('POST', quotas, { metadata: { name: 'full' }, spec: { hard: { pods: '0' } } })
  await world.declare('large', {
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    selector: { matchLabels: { size: 'large' } },
    resources: [
      {
        name: 'job',
        manifest: {
          apiVersion: 'batch/v1',
          kind: 'Job',
          metadata: { name: 'large-{{ .clusterId }}', namespace },
          spec: {
            template: {
              spec: {
                restartPolicy: 'OnFailure',
                nodeSelector: { size: 'large' },
                containers: [{ name: 'large', image: 'example.com/large' }],
              },
            },
          },
        },
        discovery: { namespace, by_name: 'large-{{ .clusterId }}' },
      },
    ],
  })
  await world.until('large', 'Working')
  const { id } = await world.create('large', {}, { size: 'large' })
  const available = () => availableOf(id, 'large')
  await world.pulsedUntil(id, async () =>
    expect(await available()).toMatchObject({
      status: 'False',
      reason: 'QuotaExceeded',
      message: expect.stringMatching(/job \(Job .*\) has no pod that runs: .* exceeded quota: full, requested: pods=1/),
    }),
  )
  await plane.rest('DELETE', `${quotas}/full`)
  await world.pulsedUntil(id, async () =>
    expect(await available()).toMatchObject({
      status: 'False',
      reason: 'Unschedulable',
      message: expect.stringMatching(/no node takes its pod large-.*: 0\/1 nodes are available: .*affinity\/selector/),
    }),
  )
  await plane.rest('PATCH', '/api/v1/nodes/muster-0', { metadata: { labels: { size: 'large' } } })
  await world.pulsedUntil(id, async () => expect(await available()).toMatchObject({ status: 'True' }))
})

test('CLUSTER-95: a StatefulSet that was ready and whose pod no node takes is reported so without a pulse, although nothing was known of it at first', {
  timeout: 120_000,
}, async () => {
  const { plane: own, namespace } = world
  const labels = { app: 'lost' }
  const place = (zone: string | null) => own.rest('PATCH', '/api/v1/nodes/muster-0', { metadata: { labels: { zone } } })
  await place('one')
  await world.declare('lost', {
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    selector: { matchLabels: labels },
    resources: [
      {
        name: 'set',
        manifest: {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          metadata: { name: 'lost', namespace },
          spec: {
            selector: { matchLabels: labels },
            template: {
              metadata: { labels },
              spec: { nodeSelector: { zone: 'one' }, containers: [{ name: 'lost', image: 'example.com/lost' }] },
            },
          },
        },
        discovery: { namespace, by_name: 'lost' },
      },
    ],
  })
  await world.until('lost', 'Working')
  const { id } = await world.create('lost', {}, labels)
  await world.pulse(id)
  await vi.waitFor(async () => expect(await availableOf(id, 'lost')).toMatchObject({ status: 'True' }), PATIENCE)
  const set = await world.object(`/apis/apps/v1/namespaces/${namespace}/statefulsets/lost`)
  const isOld = () => Date.now() - Date.parse(set?.metadata.creationTimestamp ?? '') > 11_000
  await vi.waitFor(() => expect(isOld()).toBe(true), PATIENCE)

  await plane.kill('kube-scheduler')
  await place(null)
  const pod = `/api/v1/namespaces/${namespace}/pods/lost-0`
  const [lost, runs] = [await world.object(pod), await countRuns()]
  await own.rest('DELETE', pod)
  await vi.waitFor(async () => {
    const { uid = lost?.metadata.uid } = (await world.object(pod))?.metadata ?? {}
    expect(uid).not.toBe(lost?.metadata.uid)
    expect(await countRuns()).toBeGreaterThan(runs)
  }, PATIENCE)
  expect(await availableOf(id, 'lost')).toMatchObject({ status: 'True' })
  await plane.restart('kube-scheduler')
  await vi.waitFor(
    async () => expect(await availableOf(id, 'lost')).toMatchObject({ status: 'False', reason: 'Unschedulable' }),
    PATIENCE,
  )
})
