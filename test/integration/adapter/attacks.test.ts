/** What a tenant gets that may create, patch and update the objects of tasks, under any field manager, and delete none. On the real API server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import { type AdapterWorld, adapterWorld } from './world.ts'

let world: AdapterWorld

/** Longer than a pulsed wait, which then says what it waited for. */
const TIMEOUT_MS = 150_000

beforeAll(async () => {
  world = await adapterWorld()
  // As admin, so that it may read all inventories as the delivered manager may.
  await world.manager(await world.plane.kubeconfigFor('everything', world.namespace))
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

const configMaps = (name: string) => `/api/v1/namespaces/${world.namespace}/configmaps/${name}`
const deployments = (name: string) => `/apis/apps/v1/namespaces/${world.namespace}/deployments/${name}`
const adapterOf = (task: string) => `${task}-${world.namespace.slice(-8)}`

const declare = async (name: string, manifest: object): Promise<void> => {
  const { metadata } = manifest as { metadata: { name: string } }
  await world.declare(name, {
    selector: { matchLabels: { [name]: 'yes' } },
    resources: [{ name: 'one', manifest, discovery: { namespace: world.namespace, by_name: metadata.name } }],
  } as DeepPartial<AdapterTaskSpec>)
  await world.until(name, 'Working')
}
const configMap = (name: string, data: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: world.namespace },
  data,
})
const deployment = (name: string, image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: world.namespace },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'a', image }] } },
  },
})
const isReady = async (id: string) => expect((await world.cluster(id))?.status.phase).toBe('Ready')
const isGone = async (id: string) => expect(await world.cluster(id)).toBeUndefined()

const write = async (path: string, contentType: string, body: object, fieldManager: string): Promise<void> => {
  const transport = await world.plane.transport()
  const isApply = contentType === 'application/apply-patch+yaml'
  try {
    await transport.request({
      method: 'PATCH',
      path,
      contentType,
      query: { fieldManager, ...(isApply && { force: true }) },
      body,
    })
  } finally {
    await transport.close()
  }
}
const applyAs = (fieldManager: string, path: string, body: object) =>
  write(path, 'application/apply-patch+yaml', body, fieldManager)

// ADAPTER-118
test(
  'attack: one write puts two thousand field managers of one other namespace on an object: its deletion does not wait a second for each',
  async () => {
    await declare('many', configMap('many'))
    const { id } = await world.create('many', {}, { many: 'yes' })
    await world.pulsedUntil(id, () => isReady(id))
    type Managed = { metadata: { managedFields: object[] } }
    const { metadata } = (await world.object(configMaps('many'))) as unknown as Managed
    const forged = Array.from({ length: 2_000 }, (_, at) => ({
      manager: `muster-adapter-kube-system/a${at}`,
      operation: 'Apply',
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:hyperfleet.io/generation': {} } } },
    }))
    const body = { metadata: { managedFields: [...metadata.managedFields, ...forged] } }
    await write(configMaps('many'), 'application/merge-patch+json', body, 'kubectl')
    const written = (await world.object(configMaps('many'))) as unknown as Managed
    expect(written.metadata.managedFields.length).toBeGreaterThan(2_000)
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulsedUntil(id, () => isGone(id))
  },
  TIMEOUT_MS,
)

// ADAPTER-121
describe('attack: a tenant makes a ConfigMap immutable, whose data the task does not change', () => {
  const freeze = async (name: string, manager: string): Promise<string> => {
    await declare(name, configMap(name))
    const { id } = await world.create(name, {}, { [name]: 'yes' })
    await world.pulsedUntil(id, () => isReady(id))
    await applyAs(manager, configMaps(name), { ...configMap(name), data: undefined, immutable: true })
    await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
    return id
  }
  const isApplied = (id: string, name: string) => async () => {
    const health = (await world.reported(id, name)).filter((one) => one.startsWith('Health'))
    const { lastRuns = [] } = (await world.task(name)).status ?? {}
    expect(health, JSON.stringify(lastRuns)).toEqual(['Health True Healthy'])
    expect((await world.cluster(id))?.generation).toBe(2)
    expect((await world.object(configMaps(name)))?.metadata.annotations?.['hyperfleet.io/generation']).toBe('2')
  }

  test.each([
    ['as kubectl', 'plain', () => 'kubectl'],
    ['as the task of a release before', 'former', () => `muster-adapter-${adapterOf('former')}`],
  ])(
    '%s: the next generation is applied',
    async (_, name, manager) => {
      const id = await freeze(name, manager())
      await world.pulsedUntil(id, isApplied(id, name))
    },
    TIMEOUT_MS,
  )

  test(
    'as the task: it says that the object is to be deleted, and makes it again',
    async () => {
      const id = await freeze('own', `muster-adapter-${world.namespace}/${adapterOf('own')}`)
      await world.pulsedUntil(id, async () => {
        expect(await world.reported(id, 'own')).toContain('Health False ApplyFailed')
        expect(JSON.stringify((await world.task('own')).status)).toMatch(
          /ConfigMap \S+ can't be applied: .*delete the object, and it is made again/,
        )
      })
      await world.plane.rest('DELETE', configMaps('own'))
      await world.pulsedUntil(id, isApplied(id, 'own'))
    },
    TIMEOUT_MS,
  )
})

// ADAPTER-121
test(
  'attack: a task was refused because its fields differ; under its field manager a tenant writes one label: the first leaves the object, whose selector it can’t take away',
  async () => {
    await declare('first', deployment('both', 'a'))
    await declare('second', deployment('both', 'b'))
    const { id } = await world.create('both', {}, { first: 'yes' })
    await world.pulsedUntil(id, () => isReady(id))
    await world.call('PATCH', `/clusters/${id}`, { labels: { first: 'yes', second: 'yes' } })
    await world.pulsedUntil(id, async () =>
      expect(await world.reported(id, 'second')).toContain('Health False ApplyFailed'),
    )
    const { apiVersion, kind, metadata } = deployment('both', '')
    await applyAs(`muster-adapter-${world.namespace}/${adapterOf('second')}`, deployments('both'), {
      apiVersion,
      kind,
      metadata: { ...metadata, labels: { any: 'x' } },
    })
    await world.call('PATCH', `/clusters/${id}`, { labels: { second: 'yes' } })
    await world.pulsedUntil(id, async () => {
      const { lastRuns = [] } = (await world.task('first')).status ?? {}
      expect(await world.reported(id, 'second'), JSON.stringify(lastRuns)).toContain('Health True Healthy')
    })
  },
  TIMEOUT_MS,
)
