/** Ways around the devices of a namespace (FLEET-110), on an API server with the install as it is shipped. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'

const ARGO = 'system:serviceaccount:argocd:argocd-application-controller'
const BY = {
  'a commit': `--as=${ARGO}`,
  'a commit, by the name under which it is applied': '--field-manager=argocd-controller',
  'the author': '--as=author',
} as const
const EDITOR = BY['the author']
const TASK = '--as=system:serviceaccount:hyperfleet-tasks:namespaces'

let cluster: OwnControlPlane

beforeAll(async () => {
  cluster = await startControlPlane({ crds: false })
  await cluster.kubectl('apply', '--server-side', '-f', 'manifests/install.yaml')
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all')
  const bind = (name: string, role: string, user: string) =>
    cluster.kubectl('create', 'clusterrolebinding', name, `--clusterrole=${role}`, `--user=${user}`)
  await bind('argo', 'cluster-admin', ARGO)
  await bind('author', 'muster-fleet-editor', 'author')
  await cluster.kubectl(
    'create',
    'clusterrole',
    'task',
    '--verb=get,list,create,patch,delete',
    '--resource=namespaces,deployments.fleet.nationtech.io',
  )
  await bind('task', 'task', 'system:serviceaccount:hyperfleet-tasks:namespaces')
  for (const name of ['lyon', 'tills', 'all', 'none']) await cluster.kubectl('create', 'namespace', name)
  await devices('site=lyon')
  await devices('site=lyon, role=till', 'tills')
  await devices('*', 'all')
  await vi.waitFor(async () => expect(await apply(deployment('lyon', {}))).toContain('has only devices with'), {
    timeout: 60_000,
  })
}, 240_000)

afterAll(() => cluster?.stop())

const devices = (value: string, namespace = 'lyon') =>
  cluster.kubectl('annotate', '--overwrite', 'namespace', namespace, `fleet.nationtech.io/devices=${value}`)

const deployment = (namespace: string, targetSelector: object, more: object = {}) => ({
  apiVersion: 'fleet.nationtech.io/v1alpha1',
  kind: 'Deployment',
  metadata: { name: 'program', namespace },
  spec: { targetSelector, score: { type: 'Process', data: { command: ['true'] } }, ...more },
})

const apply = async (object: object, by: string = EDITOR): Promise<string> => {
  const file = join(await temporaryFolder('object'), 'object.json')
  await writeFile(file, JSON.stringify(object))
  return cluster
    .kubectl('apply', '--server-side', '--force-conflicts', `--filename=${file}`, by)
    .then(() => 'allowed')
    .catch((error: Error) => error.message.replace(/^.*denied request: /s, ''))
}

/** The annotation has come to the policy. */
const refusesOthers = () =>
  vi.waitFor(
    async () => {
      const { metadata, ...probe } = deployment('lyon', { matchLabels: { site: 'paris' } })
      expect(await apply({ ...probe, metadata: { ...metadata, name: 'probe' } })).toContain('has only devices')
    },
    { timeout: 30_000 },
  )

const remove = (namespace = 'lyon') => cluster.kubectl('delete', 'fleetdep', '--all', '-n', namespace)

test.each(Object.entries(BY))(
  'attack: %s brings a program to devices that an administrator did not give the namespace',
  async (_, by) => {
    const select = (namespace: string, selector: object) => apply(deployment(namespace, selector), by)
    for (const selector of [
      {},
      { matchLabels: { site: 'lyon' } },
      { matchLabels: { site: 'paris', role: 'till' } },
      { matchExpressions: [{ key: 'site', operator: 'Exists' }] },
    ])
      expect(await select('tills', selector)).toContain('has only devices with')
    for (const selector of [{}, { matchLabels: { site: 'lyon', role: 'till' } }])
      expect(await select('none', selector)).toContain('has no devices')
    const own = { site: 'lyon', role: 'till' }
    expect(await select('tills', { matchLabels: own })).toBe('allowed')
    expect(await select('tills', { matchLabels: { site: 'lyon' } })).toContain('add role=till to')
    expect(await select('tills', { matchLabels: { ...own, version: '2' } })).toBe('allowed')
    expect(await select('all', {})).toBe('allowed')
    for (const namespace of ['tills', 'all']) await remove(namespace)
  },
)

test('an editor who is refused is told what to write, and whom to ask', async () => {
  expect(await apply(deployment('none', {}))).toMatchInlineSnapshot(
    `"the namespace none has no devices: ask an administrator to say which it has, by their labels, as in kubectl annotate namespace none fleet.nationtech.io/devices=site=lyon,role=till, or with * for all of them"`,
  )
  expect(await apply(deployment('tills', {}))).toMatchInlineSnapshot(
    `"the namespace tills has only devices with site=lyon, role=till: add site=lyon and role=till to spec.targetSelector.matchLabels, or ask an administrator for more devices"`,
  )
})

test('what was there before stays as it is, and may be changed but for its selection', async () => {
  expect(await apply(deployment('all', { matchLabels: { site: 'paris' } }))).toBe('allowed')
  await devices('site=lyon', 'all')
  const change = (spec: object) =>
    cluster
      .kubectl(
        'patch',
        'fleetdep',
        'program',
        '-n',
        'all',
        '--type=merge',
        `--patch=${JSON.stringify({ spec })}`,
        EDITOR,
      )
      .then(() => 'allowed')
      .catch((error: Error) => error.message)
  expect(await change({ revisionHistoryLimit: 3 })).toBe('allowed')
  expect(await change({ targetSelector: { matchLabels: { site: 'rome' } } })).toContain('add site=lyon to')
  await remove('all')
})

// FLEET-31: an expression and tolerations are of the selection.
test.each([
  ['takes its expression away', { targetExpression: 'device.labels.site == "lyon"' }, {}],
  [
    'changes its expression',
    { targetExpression: 'device.labels.site == "lyon"' },
    { targetExpression: 'device.labels.site == "paris"' },
  ],
  [
    'bears a taint that it did not',
    {},
    { tolerations: [{ key: 'site', operator: 'Equal', value: 'paris', effect: 'NoExecute' }] },
  ],
])(
  'attack: a Deployment from before %s, and reaches more devices',
  async (_, before, after) => {
    await devices('*')
    await vi.waitFor(async () => expect(await apply(deployment('lyon', {}, before))).toBe('allowed'), {
      timeout: 30_000,
    })
    await devices('site=lyon')
    await refusesOthers()
    const answer = await apply(deployment('lyon', {}, after))
    await remove()
    expect(answer).toContain('has only devices with')
  },
  90_000,
)

test('attack: a task makes a namespace that has all devices', async () => {
  const annotations = { 'fleet.nationtech.io/devices': '*' }
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'made-by-task', annotations } }
  expect(await apply(namespace, TASK)).toContain('the annotation fleet.nationtech.io/devices of a namespace')
})

test('attack: a task brings a program to all devices from the namespace default', async () => {
  expect(await apply(deployment('default', {}), TASK)).not.toBe('allowed')
})

test('a selection that does not change is not refused for how it is written, and may become narrower', async () => {
  await devices('*')
  await vi.waitFor(async () => expect(await apply(deployment('lyon', {}))).toBe('allowed'), { timeout: 30_000 })
  await devices('site=lyon')
  await refusesOthers()
  const answers = {
    same: await apply(deployment('lyon', { matchLabels: {} })),
    narrower: await apply(deployment('lyon', { matchExpressions: [{ key: 'broken', operator: 'DoesNotExist' }] })),
  }
  await remove()
  expect(answers).toEqual({ same: 'allowed', narrower: 'allowed' })
}, 90_000)

test.each(['*,site=lyon', 'site = lyon', 'site', 'site=lyon,site=paris', 'site==lyon'])(
  'an annotation that no Deployment can meet, %j, is called that',
  async (value) => {
    await devices(value)
    await vi.waitFor(
      async () =>
        expect(await apply(deployment('lyon', { matchLabels: { site: 'lyon' } }))).toContain(`is ${value}, which`),
      { timeout: 30_000 },
    )
  },
  60_000,
)

test.each([
  [' * ', {}, 'allowed'],
  ['site=lyon, ', { matchLabels: { site: 'lyon' } }, 'allowed'],
  [' ', { matchLabels: { site: 'lyon' } }, 'has no devices'],
])(
  'an annotation with spaces and empty places, %j, is read without them',
  async (value, selector, answer) => {
    await devices(value)
    await vi.waitFor(async () => expect(await apply(deployment('lyon', selector))).toContain(answer), {
      timeout: 30_000,
    })
    await remove()
  },
  60_000,
)

// ADAPTER-134
test('a task leaves out what it has given a namespace, as the refusal says', async () => {
  const metadata = { name: 'given-by-task' }
  const before = { labels: { 'muster.dev/x': 'y' } }
  expect(await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { ...metadata, ...before } }, TASK)).toBe(
    'allowed',
  )
  const answer = await apply({ apiVersion: 'v1', kind: 'Namespace', metadata }, TASK)
  expect(answer).toContain('the label muster.dev/x of a namespace: write it as the namespace has it')
})
