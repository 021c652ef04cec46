/** Attacks on tasks by those who may write ConfigMaps: on a real API server with the delivered Role and policies. docs/security.md. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ProcessError } from '#hack/process/errors.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type AdapterWorld, adapterWorld, PATIENCE } from '../adapter/world.ts'

let world: AdapterWorld

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const LABEL = 'muster.dev/task-account'
/** May write ConfigMaps. */
const WRITER = 'writer'
/** May do so, too, and act as the task's account. */
const AUTHOR = 'task-author'

const CONFIG_MAPS = {
  apiGroups: [''],
  resources: ['configmaps'],
  verbs: ['get', 'create', 'update', 'patch', 'delete'],
}
const IMPERSONATE = {
  apiGroups: [''],
  resources: ['serviceaccounts'],
  resourceNames: ['everything'],
  verbs: ['impersonate'],
}

const grant = async (user: string, rules: readonly object[]): Promise<void> => {
  const { plane, namespace } = world
  await plane.rest('POST', `${RBAC}/namespaces/${namespace}/roles`, { metadata: { name: user }, rules })
  await plane.rest('POST', `${RBAC}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  })
}

/** A task file that makes a ConfigMap of this name for each cluster. */
const taskFile = (name: string) =>
  dump({
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [
      {
        name: 'made',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: `${name}-{{ .clusterId }}`, namespace: world.namespace },
        },
        discovery: { namespace: world.namespace, by_name: `${name}-{{ .clusterId }}` },
      },
    ],
  })

const configMap = (file: string, labels: object = { [LABEL]: 'everything' }) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'task', namespace: world.namespace, labels },
  data: { 'task-config.yaml': file },
})

/** @returns undefined when it was done, or what the API server said */
const as = async (user: string, args: readonly string[], object?: object): Promise<string | undefined> => {
  const file = join(await temporaryFolder('object'), 'object.json')
  if (object !== undefined) await writeFile(file, JSON.stringify(object))
  const from = object === undefined ? [] : ['-f', file]
  try {
    await world.plane.kubectl(...args, `--namespace=${world.namespace}`, `--as=${user}`, ...from)
    return undefined
  } catch (error) {
    if (!(error instanceof ProcessError)) throw error
    return error.message
  }
}

const refused = () =>
  `a task would do what is written here as the ServiceAccount ${world.accounts}/everything, which you may not`

const made = async (name: string, id: string) =>
  (await world.object(`/api/v1/namespaces/${world.namespace}/configmaps/${name}-${id}`)) !== undefined

beforeAll(async () => {
  world = await adapterWorld()
  for (const policy of ['task-accounts', 'task-files'])
    await world.plane
      .kubectl('apply', '--server-side', '-f', `kustomize/base/policies/${policy}.yaml`)
      .catch((error: unknown) => console.error(error))
  await grant(WRITER, [CONFIG_MAPS])
  await grant(AUTHOR, [CONFIG_MAPS, IMPERSONATE])
  await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, configMap(taskFile('honest')))
  await world.declare('powerful', { taskRef: { name: 'task' } })
  await world.manager()
  await world.until('powerful', 'Working')
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

// ADAPTER-104
test('attack: who may write ConfigMaps decides what the account of a task does', async () => {
  // The policy takes a moment to hold.
  await vi
    .waitFor(
      async () => expect(await as(WRITER, ['replace', '--dry-run=server'], configMap('x'))).toContain(refused()),
      {
        timeout: 10_000,
        interval: 500,
      },
    )
    .catch(() => {})
  const refusals = [await as(WRITER, ['replace'], configMap(taskFile('loot')))]
  const { id } = await world.create('attacked')
  await world.pulse(id)
  await vi.waitFor(async () => expect((await made('honest', id)) || (await made('loot', id))).toBe(true), PATIENCE)
  expect(await made('loot', id)).toBe(false)
  refusals.push(
    await as(WRITER, ['apply', '--server-side', '--force-conflicts'], configMap(taskFile('loot'))),
    await as(WRITER, ['label', 'configmap', 'task', '--overwrite', `${LABEL}=other`]),
  )
  expect(refusals).toEqual([
    expect.stringContaining(refused()),
    expect.stringContaining(refused()),
    expect.stringContaining('/other, which you may not'),
  ])
})

// ADAPTER-104
test('attack: they put another ConfigMap in its place', async () => {
  expect(await as(WRITER, ['delete', 'configmap', 'task'])).toBeUndefined()
  expect(await as(WRITER, ['create'], configMap(taskFile('loot')))).toContain(refused())
  expect(await as(WRITER, ['create'], configMap(taskFile('loot'), {}))).toBeUndefined()
  expect(await as(WRITER, ['label', 'configmap', 'task', `${LABEL}=everything`])).toContain(refused())
  // Another event of the task's makes the worker read it at once.
  await world.plane.rest(
    'PATCH',
    `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks/powerful`,
    { spec: { hyperfleetAPI: { timeout: '11s' } } },
  )
  // It may have been seen missing in between.
  await vi.waitFor(async () => {
    const { status } = await world.task('powerful')
    expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      reason: 'InvalidTask',
      message: expect.stringContaining(`kubectl label configmap task -n ${world.namespace} ${LABEL}=everything`),
    })
  }, PATIENCE)
  const { id } = await world.create('replaced')
  await world.pulse(id)
  expect(await made('loot', id)).toBe(false)
})

test('who may act as the account writes the task file, and others its metadata', async () => {
  expect(await as(AUTHOR, ['replace'], configMap(taskFile('changed')))).toBeUndefined()
  expect(await as(WRITER, ['annotate', 'configmap', 'task', 'example.com/note=read'])).toBeUndefined()
  await world.until('powerful', 'Working')
  const { id } = await world.create('changed')
  await world.pulse(id)
  await vi.waitFor(async () => expect(await made('changed', id)).toBe(true), PATIENCE)
})
