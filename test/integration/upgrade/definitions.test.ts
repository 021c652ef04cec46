/** The definitions of the last release, of now and of a release to come, in turn on one real API server, with objects and managers that outlive them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { definitionsIn, RELEASED } from '#hack/compatibility/released.ts'
import { TASK_ACCOUNTS, TASK_WORK } from '#hack/muster/managers.ts'
import type { KubeObject, Resource } from '#operator/index.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { eventually, type PoolWorld, poolWorld } from '../clusterpool/world.ts'

const NAMESPACE = 'hyperfleet-system'
const PRESENT = 'manifests/crds'
const PATIENCE = 240_000

let cluster: OwnControlPlane
beforeAll(async () => {
  cluster = await startControlPlane()
})
afterAll(() => cluster?.stop())

const apply = (...args: readonly string[]) => cluster.kubectl('apply', '--server-side', '--force-conflicts', ...args)

const install = async (folder: string): Promise<void> => {
  await apply('-f', folder)
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', '-f', folder)
}

/** Every object of our kinds, without what each write changes. */
const stored = async (): Promise<readonly object[]> => {
  const plurals = definitionsIn(PRESENT).map(({ metadata }) => metadata.name)
  const { items }: { items: readonly KubeObject[] } = JSON.parse(
    await cluster.kubectl('get', plurals.join(','), '--namespace', NAMESPACE, '-o', 'json'),
  )
  return items
}

test('objects made with the definitions of the last release are the same with those of now, and after a rollback', async () => {
  await install(RELEASED)
  for (const namespace of [NAMESPACE, TASK_ACCOUNTS, TASK_WORK]) await cluster.kubectl('create', 'namespace', namespace)
  await apply('-k', 'kustomize/samples')
  const before = await stored()
  expect(before.length).toBeGreaterThan(8)
  for (const folder of [PRESENT, RELEASED, PRESENT]) {
    await install(folder)
    expect(await stored()).toEqual(before)
    // The same manifests are still taken, and say nothing new.
    await apply('-k', 'kustomize/samples')
    expect(await stored()).toEqual(before)
  }
})

/** What a release to come has written. */
const LATER = { fromALaterRelease: 'kept' }

interface Parts {
  readonly versions: readonly {
    readonly schema: {
      readonly openAPIV3Schema: { readonly properties: Record<string, { readonly properties?: object }> }
    }
  }[]
}

const hasFields = ({ spec }: { readonly spec: unknown }, part: string): boolean =>
  (spec as Parts).versions.every(({ schema }) => schema.openAPIV3Schema.properties[part]?.properties !== undefined)

/** Our definitions as a later release may have them: one more field in each spec and status. */
const installLater = async (): Promise<void> => {
  for (const definition of definitionsIn(PRESENT)) {
    const path = '/spec/versions/0/schema/openAPIV3Schema/properties'
    // Records that a controller keeps for itself have no status.
    const parts = ['spec', 'status'].filter((part) => hasFields(definition, part))
    const patch = parts.map((part) => ({
      op: 'add',
      path: `${path}/${part}/properties/${Object.keys(LATER)[0]}`,
      value: { type: 'string', description: 'Of a later release.' },
    }))
    await cluster.kubectl('patch', 'crd', definition.metadata.name, '--type=json', '-p', JSON.stringify(patch))
  }
  // The API server takes a moment to serve a schema.
  await eventually(async () => {
    const explained = await cluster.kubectl('explain', 'clusterpools.spec.fromALaterRelease')
    expect(explained).toContain('Of a later release.')
  })
}

const MARKS = {
  metadata: { annotations: { 'later.example.com/mark': 'kept' }, labels: { later: 'kept' } },
  spec: LATER,
}

const mark = async <O extends KubeObject>(the: PoolWorld, resource: Resource<O>, name: string, namespace: string) => {
  await the.api.patch(resource, { name, namespace, type: 'merge', body: MARKS as never })
}

test('what a later release has written is kept by this one, in an upgrade that is rolled back while both run', {
  timeout: PATIENCE,
}, async () => {
  await installLater()
  await using the = await poolWorld(cluster)
  await the.customize(['a', 'b'])
  const customizations = '/apis/hive.openshift.io/v1/namespaces'
  const customization = (name: string) => `${customizations}/${the.namespace}/clusterdeploymentcustomizations/${name}`
  for (const name of ['a', 'b']) {
    await cluster.rest('PATCH', customization(name), MARKS)
    await cluster.rest('PATCH', `${customization(name)}/status`, { status: LATER })
  }
  await the.pool('pool', { size: 1, runningCount: 1, inventory: ['a', 'b'] })
  await mark(the, ClusterPool, 'pool', the.namespace)
  const old = await the.start()
  await eventually(async () => expect((await the.get.pool('pool')).status).toMatchObject({ size: 1, ready: 1 }))

  // The new one begins before the old one ends, and goes again before its work is done.
  const fresh = await the.start()
  await old.stop()
  await the.claim('mine', 'pool')
  await mark(the, ClusterClaim, 'mine', the.namespace)
  const claim = { name: 'mine', namespace: the.namespace, subresource: 'status', type: 'merge' } as const
  await the.api.patch(ClusterClaim, { ...claim, body: { status: LATER } as never })
  await eventually(async () => expect((await the.get.claim('mine')).spec.namespace).toBeDefined())
  const back = await the.start()
  await fresh.stop()
  await eventually(async () => {
    const { status } = await the.get.claim('mine')
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'ClusterRunning', status: 'True' }))
    expect((await the.get.pool('pool')).status).toMatchObject({ size: 1, ready: 1, claimed: 1 })
  })

  expect(await the.get.pool('pool')).toMatchObject(MARKS)
  expect(await the.get.claim('mine')).toMatchObject({ ...MARKS, status: LATER })
  for (const name of ['a', 'b']) {
    const { status } = await the.get.customization(name)
    expect(await the.get.customization(name)).toMatchObject({ ...MARKS, status: LATER })
    expect(status?.clusterDeploymentRef).toBeDefined()
  }
  expect(await the.clusters('pool')).toHaveLength(2)
  await back.stop()
})

test('what an older release has left is taken on with one write for each object that says less than now, and none for others', async () => {
  await using the = await poolWorld(cluster)
  await the.customize(['c', 'd', 'e'])
  const older = await the.start()
  for (const name of ['less', 'same']) await the.pool(name, { size: 1, inventory: name === 'less' ? ['c'] : ['d'] })
  for (const name of ['less', 'same'])
    await eventually(async () => expect((await the.get.pool(name)).status).toMatchObject({ size: 1, standby: 1 }))
  await older.stop()
  // As a release wrote it that had no such fields.
  const status = { inventorySummary: null, observedGeneration: null }
  const less = { name: 'less', namespace: the.namespace, subresource: 'status', type: 'merge' } as const
  await the.api.patch(ClusterPool, { ...less, body: { status } as never })

  await using proxy = await cluster.proxy()
  await the.start({ server: proxy.server })
  await eventually(async () => expect((await the.get.pool('less')).status?.inventorySummary).toBe('1/1'))
  // By the time that this one is filled, everything that was there before it has been looked at.
  await the.pool('last', { size: 1, inventory: ['e'] })
  await eventually(async () => expect((await the.get.pool('last')).status).toMatchObject({ size: 1, standby: 1 }))
  const [last] = await the.clusters('last')
  const isOfLast = (path: string) =>
    /clusterpools\/last|customizations\/e\b/.test(path) || path.includes(last?.metadata.name ?? '')
  // Only what is new is created.
  const writes = proxy
    .requests()
    .filter(({ method, path }) => method !== 'GET' && method !== 'POST' && !path.includes('/events') && !isOfLast(path))
    .map(({ method, path }) => `${method} ${path.split('?', 1)[0]?.replace(the.namespace, 'NAMESPACE')}`)
  expect(writes).toEqual(['PUT /apis/hive.openshift.io/v1/namespaces/NAMESPACE/clusterpools/less/status'])
})
