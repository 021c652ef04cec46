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
const change = (name: string, spec: object) =>
  world.kube.patch(AdapterTask, { name, namespace: world.namespace, type: 'merge', body: { spec } })
const events = async (reason: string) => {
  const { items } = await world.plane.rest<{ items: { reason: string; note: string }[] }>(
    'GET',
    `/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`,
  )
  return items.filter((item) => item.reason === reason).map(({ note }) => note)
}

describe('a task that can’t be run', () => {
  test('says where and what to write, as a condition and an event; mended, it works', async () => {
    await world.declare('broken', {
      params: [{ name: 'clusterId', source: 'evnet.id' }],
      resources: namespaceAndConfig().resources,
    })
    const { status } = await world.until('broken', 'InvalidTask')
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    expect(ready).toMatchObject({ status: 'False' })
    expect(ready?.message).toBe(
      'params[0].source: there is no evnet.id to take the value from: did you mean event.id?; nothing is done until it is mended',
    )
    await vi.waitFor(async () => expect(await events('InvalidTask')).toHaveLength(1), PATIENCE)
    await change('broken', namespaceAndConfig())
    await world.until('broken', 'Working')
    await remove('broken')
  })

  test('a token file that nobody listed is refused: a task must not send the manager’s own secrets anywhere', async () => {
    const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount/token'
    await world.declare('greedy', { ...namespaceAndConfig(), hyperfleetAPI: { url: world.url, tokenPath } })
    const { status } = await world.until('greedy', 'InvalidTask')
    expect(status?.conditions?.[0]?.message).toContain('is not among the files that tasks may read')
    await remove('greedy')
  })
})

test('a task may do what its ServiceAccount may do and no more: refused, reported, and nothing is there', async () => {
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
  expect((await events('RunFailed'))[0]).toContain('system:serviceaccount')
  await remove('powerless')
})

test('a suspended task begins nothing; what waited is done when it goes on', async () => {
  await world.declare('paused', namespaceAndConfig())
  await world.until('paused', 'Working')
  await change('paused', { suspend: true })
  await world.until('paused', 'Suspended')
  const { id } = await world.create('paused')
  await world.pulse(id)
  await change('paused', { suspend: false })
  await vi.waitFor(async () => expect(await world.reported(id, 'paused')).toContain('Applied True Applied'), PATIENCE)
  await remove('paused')
})

test('a task file of the peer runs unchanged out of a ConfigMap: created, reported by itself, deleted by its own gates', async () => {
  const text = await readFile('controllers/adapter/testdata/peer-lifecycle.yaml', 'utf8')
  await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, {
    metadata: { name: 'peer' },
    data: { 'task-config.yaml': text },
  })
  await world.declare('peer', { taskRef: { name: 'peer' } })
  await world.until('peer', 'Working')
  const { id } = await world.create('peer')
  await world.pulse(id)
  await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
  expect(await world.object(`/api/v1/namespaces/${id}/configmaps/config`)).toMatchObject({
    data: { region: 'nowhere', name: 'peer' },
  })
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id, 'Deleting')
  await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
  expect(await world.object(`/api/v1/namespaces/${id}`)).toBeUndefined()
  await remove('peer')
})

describe('managers come and go', () => {
  test('of two one works; when it goes the other one finishes the deletion that was under way', async () => {
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
    // Nobody saw it go: the next pulse makes the second one look.
    await world.pulse(id, 'Again')
    await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
  })
})
