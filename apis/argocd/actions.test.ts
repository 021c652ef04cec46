import { globSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { runLua } from '#test/harness/lua.ts'

type Discovered = Readonly<Record<string, { readonly disabled: boolean }>>

const enabled = async (kind: string, object: object): Promise<string[]> =>
  Object.entries(await runLua<Discovered>(`actions/${kind}/discovery.lua`, object))
    .filter(([, { disabled }]) => !disabled)
    .map(([name]) => name)
    .toSorted()

const act = (kind: string, action: string, object: object) =>
  runLua<{ metadata: { annotations: Record<string, string> }; spec: Record<string, unknown> }>(
    `actions/${kind}/${action}.lua`,
    object,
  )

const FLEET = 'fleet.nationtech.io_Deployment'
const TASK = 'hyperfleet.redhat.com_AdapterTask'
const CLUSTER = 'hive.openshift.io_ClusterDeployment'

const rollout = (phase: string, spec: object = {}, more: object = {}) => ({
  metadata: { name: 'edge', resourceVersion: '4711' },
  spec: { rollout: spec },
  status: { rollout: { phase, revision: 3, batch: 1, ...more } },
})

/** Its batch is. */
const GOOD = { goodSince: '2026-01-01T00:00:00Z' }

test('every action that is offered is there, and every one that is there is offered', async () => {
  const folders = [...new Set(globSync('actions/*/*.lua', { cwd: import.meta.dirname }).map(dirname))]
  expect(folders).not.toEqual([])
  for (const folder of folders) {
    const offered = Object.keys(await runLua<Discovered>(`${folder}/discovery.lua`, { spec: {} }))
    const files = globSync(`${folder}/*.lua`, { cwd: import.meta.dirname }).map((file) => basename(file, '.lua'))
    expect(['discovery', ...offered].toSorted()).toEqual(files.toSorted())
  }
})

test.for([
  [rollout('Active'), ['abort', 'pause']],
  [rollout('Waiting', { approval: 'Manual' }, GOOD), ['abort', 'approve-batch', 'pause']],
  // For a window.
  [rollout('Waiting', { approval: 'Manual' }), ['abort', 'pause']],
  [rollout('Waiting', { approval: 'Automatic' }), ['abort', 'pause']],
  [rollout('Suspended'), ['abort', 'pause', 'resume']],
  [rollout('Paused', { paused: true }), ['abort', 'unpause']],
  [rollout('Inactive'), ['pause']],
  [{ spec: {} }, ['pause']],
] as const)('of a rollout %j can be done: %j', async ([object, actions]) => {
  expect(await enabled(FLEET, object)).toEqual(actions)
})

test.for([
  ['approve-batch', { 'fleet.nationtech.io/approve-batch': '2@3' }],
  ['abort', { 'fleet.nationtech.io/abort-revision': '3' }],
  ['resume', { 'fleet.nationtech.io/resume': '4711' }],
] as const)('%s annotates the Deployment with %j', async ([action, annotations]) => {
  const { metadata } = await act(FLEET, action, rollout('Waiting', { approval: 'Manual' }))
  expect(metadata.annotations).toEqual(annotations)
})

test('of batches that were drawn again, what was approved before is not approved: the annotation says which are meant', async () => {
  const { status, ...object } = rollout('Waiting', { approval: 'Manual' })
  const drawn = { ...object, status: { rollout: { ...status.rollout, drawn: 2 } } }
  const { metadata } = await act(FLEET, 'approve-batch', drawn)
  expect(metadata.annotations).toEqual({ 'fleet.nationtech.io/approve-batch': '2@3.2' })
})

test('pausing and going on', async () => {
  expect((await act(FLEET, 'pause', rollout('Active'))).spec).toEqual({ rollout: { paused: true } })
  expect((await act(FLEET, 'unpause', rollout('Paused', { paused: true }))).spec).toEqual({
    rollout: { paused: false },
  })
})

test('a task is suspended or goes on', async () => {
  expect(await enabled(TASK, { spec: {} })).toEqual(['suspend'])
  expect(await enabled(TASK, { spec: { suspend: true } })).toEqual(['resume'])
  expect((await act(TASK, 'suspend', { spec: {} })).spec).toEqual({ suspend: true })
})

test('a cluster is switched by its owner, and an unclaimed one replaced by its pool', async () => {
  expect(await enabled(CLUSTER, { spec: {} })).toEqual(['hibernate'])
  expect(await enabled(CLUSTER, { spec: { powerState: 'Hibernating' } })).toEqual(['start'])
  expect(await enabled(CLUSTER, { spec: { clusterPoolRef: { poolName: 'p' } } })).toEqual(['replace'])
  const { metadata } = await act(CLUSTER, 'replace', { metadata: { name: 'c' }, spec: {} })
  expect(metadata.annotations).toEqual({ 'hive.openshift.io/remove-cluster-from-pool': 'true' })
})
