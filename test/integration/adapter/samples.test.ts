/** The tasks of kustomize/samples, as they are delivered, and a task with a Job, on a control plane whose Jobs complete. */
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PARTS } from '#hack/cluster/local/layout.ts'
import { reflect } from '#operator/client/reflector.ts'
import type { Transport } from '#operator/client/transport.ts'
import { type KubeObject, systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { defineResource } from '#operator/model/resource.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld, type Cluster, PATIENCE } from './world.ts'

let plane: OwnControlPlane
let world: AdapterWorld
let transport: Transport
const ending = new AbortController()
const watched = new Map<string, { readonly event: string; readonly object: KubeObject }[]>()

const TASKS = ['cluster-config', 'cluster-validation', 'cluster-slow', 'cluster-broken', 'nodepool-config']

beforeAll(async () => {
  plane = await startControlPlane({ parts: PARTS })
  await plane.rest('POST', '/api/v1/nodes', { metadata: { name: 'muster-0', labels: { type: 'kwok' } } })
  world = await adapterWorld({ plane })
  await declareSamples()
  transport = await plane.transport()
  for (const resource of KINDS) watch(resource)
  await world.manager()
  for (const task of TASKS) await world.until(task, 'Working')
}, 180_000)

afterAll(async () => {
  ending.abort()
  await world?.[Symbol.asyncDispose]()
  await transport?.close()
  await plane?.stop()
})

/** With the API of the test for their API, in the namespace of the test. */
const declareSamples = async (): Promise<void> => {
  const text = (await plane.kubectl('kustomize', 'kustomize/samples/tasks'))
    .replaceAll('hyperfleet-system', world.namespace)
    .replaceAll('hyperfleet-work', world.namespace)
    .replaceAll('hyperfleet-tasks', world.accounts)
    .replaceAll(/url: https:.*/g, `url: ${world.url}`)
  const paths: Readonly<Record<string, string>> = {
    ServiceAccount: `/api/v1/namespaces/${world.accounts}/serviceaccounts`,
    Role: `/apis/rbac.authorization.k8s.io/v1/namespaces/${world.namespace}/roles`,
    RoleBinding: `/apis/rbac.authorization.k8s.io/v1/namespaces/${world.namespace}/rolebindings`,
    ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    AdapterTask: `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks`,
  }
  for (const manifest of loadAll(text) as KubeObject[]) await plane.rest('POST', paths[manifest.kind] ?? '', manifest)
}

const kindOf = (group: string, plural: string, kind: string, scope: 'Namespaced' | 'Cluster') =>
  defineResource({ group, version: 'v1', plural, kind, scope, subresources: [] })

const KINDS = [
  kindOf('', 'namespaces', 'Namespace', 'Cluster'),
  kindOf('', 'configmaps', 'ConfigMap', 'Namespaced'),
  kindOf('batch', 'jobs', 'Job', 'Namespaced'),
]

/** Notes everything that becomes of what tasks apply. */
const watch = (resource: (typeof KINDS)[number]): void => {
  const options = { labelSelector: 'muster.dev/resource-id', clock: systemClock, log: silent, signal: ending.signal }
  reflect<KubeObject>(transport, resource, {
    ...options,
    onEvent: (seen) => {
      if (seen.type === 'synced') return
      const id = seen.object.metadata.labels?.['muster.dev/resource-id'] ?? ''
      watched.set(id, [...(watched.get(id) ?? []), { event: seen.type, object: seen.object }])
    },
  })
}

/** When something first became of an object of this kind, as etcd counts; undefined: never. */
const revision = (id: string, kind: string, fits: (event: string, object: KubeObject) => boolean) =>
  watched
    .get(id)
    ?.filter(({ object }) => object.kind === kind)
    .filter(({ event, object }) => fits(event, object))
    .map(({ object }) => Number(object.metadata.resourceVersion))
    .toSorted((a, b) => a - b)[0]

const isDeleted = (event: string) => event === 'deleted'
const isLeaving = (_: string, { metadata }: KubeObject) => metadata.deletionTimestamp !== undefined

/** Objects of one HyperFleet resource that the watch saw come and has not seen go. */
const left = (id: string): string[] => {
  const alive = new Map<string, string>()
  for (const { event, object } of watched.get(id) ?? []) {
    if (event === 'deleted') alive.delete(object.metadata.uid)
    else alive.set(object.metadata.uid, `${object.kind}/${object.metadata.name}`)
  }
  return [...alive.values()].toSorted()
}

const podsOf = async (job: string): Promise<string> =>
  plane.kubectl('get', 'pods', `--namespace=${world.namespace}`, `--selector=job-name=${job}`, '--output=name')

/** Asks again and again, as a Sentinel does, until the resource is as it should be. */
const until = <T>(path: string, type: string, check: (found: Cluster | undefined) => T): Promise<T> =>
  vi.waitFor(
    async () => {
      const found = await world.call<Cluster>('GET', path)
      const resourceId = path.split('/').at(-1) ?? ''
      try {
        return check(found)
      } catch (error) {
        if (found !== undefined) await world.call('POST', '/events', { resourceType: type, resourceId, reason: 'Test' })
        throw error
      }
    },
    { timeout: 60_000, interval: 500 },
  )

const conditions = (found: Cluster | undefined): Record<string, string> =>
  Object.fromEntries(
    (found?.status.conditions ?? []).map(({ type, status, observed_generation: at }) => [type, `${status} at ${at}`]),
  )

/** Ready by both tasks that all clusters have, at a generation. */
const untilReady = (id: string, generation: number) =>
  until(`/clusters/${id}`, 'clusters', (found) => {
    const said = `True at ${generation}`
    const wanted = { Ready: said, ClusterConfigSuccessful: said, ClusterValidationSuccessful: said }
    expect(conditions(found)).toMatchObject(wanted)
    return found
  })

const untilGone = (path: string, type: string) => until(path, type, (found) => expect(found).toBeUndefined())

const made = async (name: string, more: object = {}): Promise<string> => {
  const found = await world.call<Cluster>('POST', '/clusters', { name, spec: { platform: 'test' }, ...more })
  return found?.id ?? ''
}

// Journey 4
test('create → Ready → changed → Ready at the new generation, Available kept → DELETE → gone, what is inside first', async () => {
  const id = await made('lifelong')
  await untilReady(id, 1)
  expect(left(id)).toEqual(['ConfigMap/cluster', `Job/validate-${id}`, `Namespace/c-${id}`])
  const firstJob = await world.object(`/apis/batch/v1/namespaces/${world.namespace}/jobs/validate-${id}`)

  const changed = await world.call<Cluster>('PATCH', `/clusters/${id}`, { spec: { platform: 'other' } })
  expect(conditions(changed)).toMatchObject({ Available: 'True at 1', Ready: 'False at 2' })
  const seen = new Set<string>()
  await until(`/clusters/${id}`, 'clusters', (found) => {
    seen.add(conditions(found).Available ?? 'none')
    expect(conditions(found)).toMatchObject({ Ready: 'True at 2' })
  })
  await untilReady(id, 2)
  expect([...seen].filter((available) => !available.startsWith('True'))).toEqual([])
  const secondJob = await world.object(`/apis/batch/v1/namespaces/${world.namespace}/jobs/validate-${id}`)
  expect(secondJob?.metadata.uid).not.toBe(firstJob?.metadata.uid)
  expect(await world.object(`/api/v1/namespaces/c-${id}/configmaps/cluster`)).toMatchObject({
    data: { platform: 'other', generation: '2' },
  })

  await world.call('DELETE', `/clusters/${id}`)
  await untilGone(`/clusters/${id}`, 'clusters')
  await vi.waitFor(() => expect(left(id)).toEqual([]), PATIENCE)
  const config = revision(id, 'ConfigMap', isDeleted)
  const namespace = revision(id, 'Namespace', isLeaving)
  expect(config).toBeLessThan(namespace ?? 0)
  expect(await podsOf(`validate-${id}`)).toBe('')
}, 180_000)

test('ADAPTER-46: a cluster takes its node pools with it, and nothing of either is left', async () => {
  const id = await made('parent')
  const pool = await world.call<Cluster>('POST', `/clusters/${id}/nodepools`, {
    name: 'workers',
    spec: { replicas: 2 },
  })
  const poolPath = `/clusters/${id}/nodepools/${pool?.id}`
  await untilReady(id, 1)
  await until(poolPath, 'nodepools', (found) => expect(found?.status.phase).toBe('Ready'))
  const poolConfig = `/api/v1/namespaces/c-${id}/configmaps/nodepool-${pool?.id}`
  expect(await world.object(poolConfig)).toMatchObject({ data: { name: 'workers', replicas: '2' } })

  await world.call('DELETE', `/clusters/${id}`)
  await untilGone(poolPath, 'nodepools')
  await untilGone(`/clusters/${id}`, 'clusters')
  await vi.waitFor(() => expect([...left(id), ...left(pool?.id ?? '')]).toEqual([]), PATIENCE)
}, 120_000)

test('a node pool alone: the cluster and what it has stay', async () => {
  const id = await made('staying')
  const pool = await world.call<Cluster>('POST', `/clusters/${id}/nodepools`, {
    name: 'leaving',
    spec: { replicas: 1 },
  })
  const poolPath = `/clusters/${id}/nodepools/${pool?.id}`
  await untilReady(id, 1)
  await until(poolPath, 'nodepools', (found) => expect(found?.status.phase).toBe('Ready'))
  await world.call('DELETE', poolPath)
  await untilGone(poolPath, 'nodepools')
  await vi.waitFor(() => expect(left(pool?.id ?? '')).toEqual([]), PATIENCE)
  expect(left(id)).toEqual(['ConfigMap/cluster', `Job/validate-${id}`, `Namespace/c-${id}`])
}, 120_000)

describe('ADAPTER-49: deleted while its Job is at work', () => {
  test('the Job and its pods go, nothing is made again, and the same name is another cluster at once', async () => {
    const id = await made('hasty', { labels: { pace: 'slow' } })
    const job = `/apis/batch/v1/namespaces/${world.namespace}/jobs/slow-${id}`
    await until(`/clusters/${id}`, 'clusters', () => expect(left(id)).toContain(`Job/slow-${id}`))
    const running = (await world.object(job)) as (KubeObject & { status?: { succeeded?: number } }) | undefined
    expect(running?.status?.succeeded ?? 0).toBeLessThan(5)
    await world.call('DELETE', `/clusters/${id}`)
    await untilGone(`/clusters/${id}`, 'clusters')
    const second = await made('hasty')
    expect(second).not.toBe(id)
    await vi.waitFor(() => expect(left(id)).toEqual([]), PATIENCE)
    expect(await podsOf(`slow-${id}`)).toBe('')
    await untilReady(second, 1)
  }, 120_000)
})

test('a task with a mistake says which and harms no other; corrected, its deletion goes on', async () => {
  const id = await made('unlucky', { labels: { try: 'broken' } })
  await world.pulse(id)
  const broken = () =>
    world.call<{ items: { adapter: string; conditions: { type: string; status: string; message: string }[] }[] }>(
      'GET',
      `/clusters/${id}/statuses`,
    )
  await vi.waitFor(async () => {
    const own = (await broken())?.items.find(({ adapter }) => adapter === 'cluster-broken')
    const health = own?.conditions.find(({ type }) => type === 'Health')
    expect(health?.status).toBe('False')
    expect(health?.message).toContain('resource.spec.dns.zone')
  }, PATIENCE)
  await untilReady(id, 1)
  await world.call('DELETE', `/clusters/${id}`)
  const merge = { spec: { params: [{ name: 'clusterId', source: 'event.id' }], resources: [] } }
  const path = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks/cluster-broken`
  await plane.rest('PATCH', path, merge)
  await untilGone(`/clusters/${id}`, 'clusters')
}, 120_000)

test('a Job: Unknown while it runs, Ready as soon as it is complete, without another pulse', async () => {
  await using another = await adapterWorld({ plane })
  await another.declare('validate', {
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [
      {
        name: 'job',
        manifest: {
          apiVersion: 'batch/v1',
          kind: 'Job',
          metadata: { name: 'validate-{{ .clusterId }}', namespace: another.namespace },
          spec: {
            template: {
              spec: { restartPolicy: 'OnFailure', containers: [{ name: 'validate', image: 'example.com/validate' }] },
            },
          },
        },
        discovery: { namespace: another.namespace, by_name: 'validate-{{ .clusterId }}' },
      },
    ],
  })
  await another.manager()
  await another.until('validate', 'Working')
  const { id } = await another.create('validated')
  await another.pulse(id)
  await vi.waitFor(
    async () => expect(await another.reported(id, 'validate')).toContain('Applied True Applied'),
    PATIENCE,
  )
  await vi.waitFor(async () => expect((await another.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
  expect(await another.reported(id, 'validate')).toContain('Available True Available')

  await another.call('DELETE', `/clusters/${id}`)
  await another.pulse(id, 'Deleting')
  await vi.waitFor(async () => expect(await another.cluster(id)).toBeUndefined(), PATIENCE)
  const jobs = `/apis/batch/v1/namespaces/${another.namespace}/jobs/validate-${id}`
  expect(await another.object(jobs)).toBeUndefined()
})
