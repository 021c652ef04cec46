/** Tasks whose ServiceAccount may do things in some namespaces only: changes of what they applied are seen all the same. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ConfigMap } from '#apis/kubernetes.ts'
import { NamespaceWatches } from '#controllers/adapter/watch/namespace-watches.ts'
import { impersonating, serviceAccountUser } from '#operator/client/impersonation.ts'
import type { Transport } from '#operator/client/transport.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { silent } from '#operator/model/log.ts'
import { manualClock, type RequestProxy } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld, PATIENCE } from './world.ts'

let world: AdapterWorld

const ALL = ['get', 'list', 'watch', 'create', 'patch', 'delete']

/** An account that may do these things with ConfigMaps in a namespace, by a Role there. */
const account = async (name: string, verbs: readonly string[], namespace = world.namespace): Promise<void> => {
  const { plane } = world
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  await plane.rest('POST', `/api/v1/namespaces/${world.namespace}/serviceaccounts`, { metadata: { name } })
  await plane.rest('POST', `${rbac}/roles`, {
    metadata: { name },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs }],
  })
  await plane.rest('POST', `${rbac}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: world.namespace }],
  })
}

const declare = (name: string, namespace = world.namespace) =>
  world.declare(name, {
    serviceAccountName: name,
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [
      {
        name: 'config',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: `${name}-{{ .clusterId }}`, namespace },
          data: { name: '{{ .resource.name }}' },
        },
        discovery: { namespace, by_name: `${name}-{{ .clusterId }}` },
      },
    ],
  })

const configOf = (name: string, id: string) => `/api/v1/namespaces/${world.namespace}/configmaps/${name}-${id}`

const applied = async (name: string): Promise<string> => {
  const { id } = await world.create(name)
  await world.pulse(id)
  await vi.waitFor(async () => expect(await world.reported(id, name)).toContain('Applied True Applied'), PATIENCE)
  return id
}

beforeAll(async () => {
  world = await adapterWorld()
  await account('local', ALL)
  await account('unseeing', ['get', 'create', 'patch', 'delete'])
  await declare('local')
  await declare('unseeing')
  await world.manager()
  await world.until('local', 'Working')
})

afterAll(async () => {
  await world[Symbol.asyncDispose]()
})

test('ADAPTER-27: a Role is enough: what another client changes or deletes is repaired, and the end of a deletion is seen, without a pulse', async () => {
  const id = await applied('local')
  const path = configOf('local', id)
  await world.plane.rest('PATCH', path, { data: { name: 'tampered with' } })
  await vi.waitFor(async () => expect(await world.object(path)).toMatchObject({ data: { name: 'local' } }), PATIENCE)
  const before = await world.object(path)
  await world.plane.rest('DELETE', path)
  await vi.waitFor(async () => {
    const again = await world.object(path)
    expect(again).toBeDefined()
    expect(again?.metadata.uid).not.toBe(before?.metadata.uid)
  }, PATIENCE)
  await world.until('local', 'Working')

  await world.plane.rest('PATCH', path, { metadata: { finalizers: ['example.com/hold'] } })
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id, 'Deleting')
  await vi.waitFor(async () => expect(await world.reported(id, 'local')).toContain('Applied True Deleting'), PATIENCE)
  await world.plane.rest('PATCH', path, { metadata: { finalizers: null } })
  await vi.waitFor(
    async () => expect((await world.reported(id, 'local')).slice(0, 1)).not.toEqual(['Applied True Deleting']),
    PATIENCE,
  )
  expect(await world.object(path)).toBeUndefined()
})

test('ADAPTER-27: where it may not watch even there, the task says so, and still does what events ask for', async () => {
  await applied('unseeing')
  const { status } = await world.until('unseeing', 'WorkingUnwatched')
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  expect(ready?.message).toContain('changes of ConfigMap are not seen')
  expect(ready?.message).toContain(`in the namespace "${world.namespace}"`)
})

describe('ADAPTER-131: rights that a namespace takes along when it ends', () => {
  /** Objects of this kind are held there: the namespace does not end. */
  const HELD = 'example.com/hold'

  /** A namespace with what a task has applied there by rights that are there alone. */
  const doomed = async (name: string) => {
    const { plane } = world
    const place = await plane.namespace('doomed')
    await account(name, ALL, place)
    await plane.rest('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      metadata: { name: `${name}-${place}` },
      rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }],
    })
    await plane.rest('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: `${name}-${place}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `${name}-${place}` },
      subjects: [{ kind: 'ServiceAccount', name, namespace: world.namespace }],
    })
    await plane.rest('POST', `/api/v1/namespaces/${place}/secrets`, {
      metadata: { name: 'held', finalizers: [HELD] },
    })
    await declare(name, place)
    await world.until(name, 'Working')
    const id = await applied(name)
    const configs = `/api/v1/namespaces/${place}/configmaps`
    return {
      id,
      config: `${configs}/${name}-${id}`,
      /** Resolves when its rights are gone, and the namespace has said what is left. */
      end: async () => {
        await plane.rest('DELETE', `/api/v1/namespaces/${place}`)
        await vi.waitFor(async () => {
          const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${place}/rolebindings/${name}`
          expect(await world.object(bindings)).toBeUndefined()
          expect(JSON.stringify(await world.object(`/api/v1/namespaces/${place}`))).toContain('secrets. has 1')
        }, PATIENCE)
      },
      free: (path: string) => plane.rest('PATCH', path, { metadata: { finalizers: null } }),
      secret: `/api/v1/namespaces/${place}/secrets/held`,
      isThere: async () => (await world.object(`/api/v1/namespaces/${place}`)) !== undefined,
    }
  }

  const untilGone = (id: string) => world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())

  test('a deletion ends in a namespace that another kind holds', async () => {
    const the = await doomed('held-by-others')
    await the.end()
    await world.call('DELETE', `/clusters/${the.id}`)
    await untilGone(the.id)
    expect(await the.isThere()).toBe(true)
    await the.free(the.secret)
  })

  test('and in one that is gone', async () => {
    const the = await doomed('gone')
    await the.end()
    await the.free(the.secret)
    await vi.waitFor(async () => expect(await the.isThere()).toBe(false), PATIENCE)
    await world.call('DELETE', `/clusters/${the.id}`)
    await untilGone(the.id)
  })

  test('not while anything of the kind is there', async () => {
    const the = await doomed('held-itself')
    await the.free(the.config)
    await world.plane.rest('PATCH', the.config, { metadata: { finalizers: [HELD] } })
    await the.end()
    await world.call('DELETE', `/clusters/${the.id}`)
    await world.pulse(the.id, 'Deleting')
    await vi.waitFor(
      async () => expect(await world.reported(the.id, 'held-itself')).toContain('Health False Forbidden'),
      PATIENCE,
    )
    await the.free(the.config)
    await untilGone(the.id)
    await the.free(the.secret)
  })
})

test('a namespace in which nothing is left is watched no longer, and again when it is needed', async () => {
  await using proxy: RequestProxy = await world.plane.proxy()
  const admin = await loadTransport({ kubeconfig: proxy.kubeconfig })
  const transport: Transport = impersonating(admin, serviceAccountUser(world.namespace, 'local'))
  const clock = manualClock()
  const ending = new AbortController()
  const seen: string[] = []
  const watches = new NamespaceWatches({
    transport,
    labelSelector: 'watched=yes',
    onEvent: (event) => seen.push(event.type),
    onWatchProblem: () => {},
    clock,
    log: silent,
    signal: ending.signal,
  })
  const asked = () => proxy.requests().filter(({ path }) => path.includes(`/namespaces/${world.namespace}/configmaps`))
  const until = (count: number) => vi.waitFor(() => expect(asked()).toHaveLength(count), PATIENCE)
  watches.ensureWatched(ConfigMap, world.namespace)
  await until(1)
  await vi.waitFor(() => expect(seen).toEqual(['synced']), PATIENCE)
  const path = `/api/v1/namespaces/${world.namespace}/configmaps`
  await world.plane.rest('POST', path, { metadata: { name: 'watched', labels: { watched: 'yes' } } })
  await vi.waitFor(() => expect(seen).toEqual(['synced', 'added']), PATIENCE)

  await clock.advance(120_000)
  watches.stopIdle()
  watches.ensureWatched(ConfigMap, world.namespace)
  await world.plane.rest('DELETE', `${path}/watched`)
  await vi.waitFor(() => expect(seen).toEqual(['synced', 'added', 'deleted']), PATIENCE)
  expect(asked()).toHaveLength(1)

  await clock.advance(120_000)
  watches.stopIdle()
  watches.ensureWatched(ConfigMap, world.namespace)
  await until(2)
  ending.abort()
  await watches.stopped()
  await admin.close()
})
