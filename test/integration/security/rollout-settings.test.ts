/**
 * The author of a Deployment lets its rollout go on without an approval: by the settings of the rollout, or by what an annotation is not. On an
 * API server with the install as it is shipped; no operator runs, so a status is what the test writes.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'

const ARGO = 'system:serviceaccount:argocd:argocd-application-controller'
const DEPLOYMENTS = '/apis/fleet.nationtech.io/v1alpha1/namespaces/default/deployments'
const TRY = '--dry-run=server'
const BY = {
  'a commit': [`--as=${ARGO}`],
  'a commit, by the name under which it is applied': ['--field-manager=argocd-controller'],
  'the author': ['--as=author'],
} as const
const EDITOR = BY['the author']

let cluster: OwnControlPlane

beforeAll(async () => {
  cluster = await startControlPlane({ crds: false })
  await cluster.kubectl('apply', '--server-side', '-f', 'manifests/install.yaml')
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all')
  const bind = (user: string, ...roles: readonly string[]) =>
    Promise.all(
      roles.map((role) =>
        cluster.kubectl('create', 'clusterrolebinding', `${user}-${role}`, `--clusterrole=${role}`, `--user=${user}`),
      ),
    )
  await bind(ARGO, 'cluster-admin')
  await bind('author', 'muster-fleet-editor')
  await bind('approver', 'muster-rollout-approver')
  await bind('both', 'muster-fleet-editor', 'muster-rollout-approver')
  await cluster.kubectl('annotate', 'namespace', 'default', 'fleet.nationtech.io/devices=*')
  // Policies take a moment to hold.
  await deploy(MANUAL, 'Waiting')
  await vi.waitFor(
    async () => {
      for (const by of Object.values(BY))
        expect(await note({ 'fleet.nationtech.io/approve-batch': '2@1' }, by)).toContain(
          'fleet.nationtech.io/approve-batch',
        )
    },
    { timeout: 60_000 },
  )
  await remove()
}, 240_000)

afterAll(() => cluster?.stop())

afterEach(() => remove())

const remove = () => cluster.kubectl('delete', 'fleetdep', '--all', '-n', 'default')

const BATCHES = { strategy: 'Batches', batches: [{ limit: 1 }] }
const MANUAL = { ...BATCHES, approval: 'Manual' }

/** A Deployment whose rollout stands so. */
const deploy = async (rollout: object, phase: string, metadata: object = {}): Promise<void> => {
  await cluster.rest('POST', DEPLOYMENTS, {
    apiVersion: 'fleet.nationtech.io/v1alpha1',
    kind: 'Deployment',
    metadata: { name: 'firmware', namespace: 'default', ...metadata },
    spec: { targetSelector: {}, score: { type: 'Process', data: { command: ['true'] } }, rollout },
  })
  const at = '2026-01-01T00:00:00Z'
  const status = {
    phase,
    revision: 1,
    startedAt: at,
    batch: 1,
    batches: [{ size: 1 }],
    policy: 'x',
    batchStartedAt: at,
  }
  await cluster.kubectl(
    'patch',
    'fleetdep',
    'firmware',
    '--namespace=default',
    '--subresource=status',
    '--type=merge',
    `--patch=${JSON.stringify({ status: { rollout: status } })}`,
  )
}

/** `allowed`, or the words of the policy that refuses. */
const patch = (change: object, by: readonly string[]): Promise<string> =>
  cluster
    .kubectl(
      'patch',
      'fleetdep',
      'firmware',
      '-n',
      'default',
      '--type=merge',
      `--patch=${JSON.stringify(change)}`,
      TRY,
      ...by,
    )
    .then(() => 'allowed')
    .catch((error: Error) => error.message.replace(/^.*denied request: /s, ''))

const settle = (rollout: object, by: readonly string[]) => patch({ spec: { rollout } }, by)
const note = (annotations: object, by: readonly string[]) => patch({ metadata: { annotations } }, by)

/** What is named by the refusal, and what it refuses. */
type Attack = readonly [setting: string, change: object]

/** Each lets the next batch begin, or more devices than before. */
const AROUND_APPROVAL: readonly Attack[] = [
  ['approval', { approval: 'Automatic' }],
  ['batches', { batches: [{ limit: '100%' }] }],
  ['batches', { strategy: 'AllAtOnce', batches: null }],
  ['rollback', { rollback: { strategy: 'Immediate' } }],
]

/** Each ends the suspension, or takes the revision back. */
const AROUND_SUSPENSION: readonly Attack[] = [
  ['batches', { batches: [{ limit: '100%' }] }],
  ['batches', { strategy: 'AllAtOnce', batches: null }],
  ['rollback', { rollback: { strategy: 'Immediate' } }],
  ['successThreshold', { successThreshold: 1 }],
  ['updateTimeout', { updateTimeout: '48h' }],
  ['offlineGrace', { offlineGrace: '48h' }],
  ['onFailure', { onFailure: 'Rollback' }],
  // It would be Suspended no more, and the next change free.
  ['paused', { paused: true }],
]

// FLEET-109, GITOPS-39
describe.each(Object.entries(BY))('%s', (_, by) => {
  test('attack: lets a rollout that needs approvals go on by its settings, while it waits or before it begins', async () => {
    for (const phase of ['Waiting', 'Inactive']) {
      await deploy(MANUAL, phase)
      for (const [name, change] of AROUND_APPROVAL) {
        const answer = await settle(change, by)
        expect({ phase, change, answer }).toEqual({
          phase,
          change,
          answer: expect.stringContaining(`spec.rollout.${name}`),
        })
      }
      await remove()
    }
  })

  test('attack: lets a suspended rollout go on, or takes it back, by its settings', async () => {
    await deploy(BATCHES, 'Suspended')
    for (const [name, change] of AROUND_SUSPENSION) {
      const answer = await settle(change, by)
      expect({ change, answer }).toEqual({ change, answer: expect.stringContaining(`spec.rollout.${name}`) })
    }
  })

  test('attack: lets it go on by an annotation without a text, or takes back what a person has approved', async () => {
    await deploy(MANUAL, 'Waiting', { annotations: { 'fleet.nationtech.io/approve-batch': '2@1' } })
    for (const change of [{ 'fleet.nationtech.io/resume': '' }, { 'fleet.nationtech.io/approve-batch': null }]) {
      const answer = await note(change, by)
      expect({ change, answer }).toEqual({ change, answer: expect.stringContaining(Object.keys(change)[0] ?? '') })
    }
  })

  test('changes all else, also what makes it stricter, and a new program with it', async () => {
    const program = { score: { data: { command: ['false'] } } }
    await deploy(MANUAL, 'Waiting', { annotations: { 'fleet.nationtech.io/approve-batch': '2@1' } })
    const others = { soak: '1h', successThreshold: 100, onFailure: 'Rollback', paused: true }
    expect(await patch({ spec: { ...program, rollout: { ...others, ...MANUAL } } }, by)).toBe('allowed')
    await remove()
    await deploy(BATCHES, 'Suspended')
    expect(await patch({ spec: { ...program, rollout: { approval: 'Manual', soak: '1h' } } }, by)).toBe('allowed')
    await remove()
    await deploy(BATCHES, 'Active')
    for (const [, change] of AROUND_SUSPENSION) expect(await settle(change, by)).toBe('allowed')
    await remove()
    await deploy({ approval: 'Manual' }, 'Inactive')
    expect(await settle(BATCHES, by)).toBe('allowed')
  })
})

// FLEET-109
test('who may write and approve changes them; who is refused is told what to do', async () => {
  await deploy(MANUAL, 'Suspended', { annotations: { 'fleet.nationtech.io/approve-batch': '2@1' } })
  for (const by of [['--as=both'], []])
    for (const [, change] of [...AROUND_APPROVAL, ...AROUND_SUSPENSION])
      expect({ by, change, answer: await settle(change, by) }).toEqual({ by, change, answer: 'allowed' })
  const taken = { 'fleet.nationtech.io/approve-batch': null }
  expect(await note(taken, ['--as=approver'])).toBe('allowed')
  expect(await note(taken, EDITOR)).toMatchInlineSnapshot(
    `"only people who may update deployments/approval may set or remove fleet.nationtech.io/approve-batch: ask one of them, or an administrator to bind the ClusterRole muster-rollout-approver to you in this namespace"`,
  )
  expect(await settle({ approval: 'Automatic' }, EDITOR)).toMatchInlineSnapshot(
    `"where approval is Manual, or the rollout is Suspended, only people who may also update deployments/approval may change spec.rollout.approval, which may let the rollout go on or take it back: leave it as it is, or ask a person who has both muster-fleet-editor and muster-rollout-approver in this namespace to change it"`,
  )
  // A new program with other batches in one change is what a person may mean: the message says how it is done.
  const both = { spec: { score: { data: { command: ['false'] } }, rollout: { batches: [{ limit: 2 }] } } }
  expect(await patch(both, BY['a commit'])).toMatchInlineSnapshot(
    `"where approval is Manual, or the rollout is Suspended, a commit may not change spec.rollout.batches, which may let the rollout go on or take it back: leave it as it is, or ask a person who has both muster-fleet-editor and muster-rollout-approver to make the same change with kubectl, after which the commit can be synced. To let commits approve, an administrator labels the namespace default with muster.dev/commits-approve=true"`,
  )
})

// GITOPS-39
test('commits change them where the namespace says that commits approve', async () => {
  await deploy(MANUAL, 'Suspended')
  await cluster.kubectl('label', 'namespace', 'default', 'muster.dev/commits-approve=true')
  await vi.waitFor(async () => expect(await settle({ approval: 'Automatic' }, BY['a commit'])).toBe('allowed'), {
    timeout: 60_000,
  })
  for (const [, change] of [...AROUND_APPROVAL, ...AROUND_SUSPENSION])
    expect(await settle(change, BY['a commit'])).toBe('allowed')
  await cluster.kubectl('label', 'namespace', 'default', 'muster.dev/commits-approve-')
})

// FLEET-110
describe('the devices of a namespace', () => {
  const NAMESPACES = { lyon: 'site=lyon, role=till', all: '*', none: undefined } as const
  const apply = async (namespace: string, targetSelector: object, by: readonly string[] = EDITOR): Promise<string> => {
    const object = {
      apiVersion: 'fleet.nationtech.io/v1alpha1',
      kind: 'Deployment',
      metadata: { name: 'program', namespace },
      spec: { targetSelector, score: { type: 'Process', data: { command: ['true'] } } },
    }
    const file = join(await temporaryFolder('deployment'), 'program.json')
    await writeFile(file, JSON.stringify(object))
    return cluster
      .kubectl('apply', '--server-side', '--force-conflicts', `--filename=${file}`, ...by)
      .then(() => 'allowed')
      .catch((error: Error) => error.message.replace(/^.*denied request: /s, ''))
  }

  beforeAll(async () => {
    for (const [name, devices] of Object.entries(NAMESPACES)) {
      await cluster.kubectl('create', 'namespace', name)
      if (devices !== undefined)
        await cluster.kubectl('annotate', 'namespace', name, `fleet.nationtech.io/devices=${devices}`)
    }
  })
  afterEach(async () => {
    for (const name of Object.keys(NAMESPACES)) await cluster.kubectl('delete', 'fleetdep', '--all', '-n', name)
  })

  test.each(Object.entries(BY))(
    'attack: %s brings a program to devices that an administrator did not give the namespace',
    async (_, by) => {
      for (const selector of [
        {},
        { matchLabels: { site: 'lyon' } },
        { matchLabels: { site: 'paris', role: 'till' } },
        { matchExpressions: [{ key: 'site', operator: 'Exists' }] },
      ])
        expect(await apply('lyon', selector, by)).toContain('has only devices with')
      for (const selector of [{}, { matchLabels: { site: 'lyon', role: 'till' } }])
        expect(await apply('none', selector, by)).toContain('has no devices')
      const own = { site: 'lyon', role: 'till' }
      expect(await apply('lyon', { matchLabels: own }, by)).toBe('allowed')
      expect(await apply('lyon', { matchLabels: { site: 'lyon' } }, by)).toContain('add role=till to')
      expect(await apply('lyon', { matchLabels: { ...own, version: '2' } }, by)).toBe('allowed')
      expect(await apply('all', {}, by)).toBe('allowed')
    },
  )

  test('who is refused is told what to write, and whom to ask', async () => {
    expect(await apply('none', {})).toMatchInlineSnapshot(
      `"the namespace none has no devices: ask an administrator to say which it has, by their labels, as in kubectl annotate namespace none fleet.nationtech.io/devices=site=lyon,role=till, or with * for all of them"`,
    )
    expect(await apply('lyon', {})).toMatchInlineSnapshot(
      `"the namespace lyon has only devices with site=lyon, role=till: add site=lyon and role=till to spec.targetSelector.matchLabels, or ask an administrator for more devices"`,
    )
  })

  test('what was there before stays as it is, and may be changed but for its selection', async () => {
    expect(await apply('all', { matchLabels: { site: 'paris' } })).toBe('allowed')
    await cluster.kubectl('annotate', '--overwrite', 'namespace', 'all', 'fleet.nationtech.io/devices=site=lyon')
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
          ...EDITOR,
        )
        .then(() => 'allowed')
        .catch((error: Error) => error.message)
    expect(await change({ revisionHistoryLimit: 3 })).toBe('allowed')
    expect(await change({ targetSelector: { matchLabels: { site: 'rome' } } })).toContain('add site=lyon to')
    await cluster.kubectl('annotate', '--overwrite', 'namespace', 'all', 'fleet.nationtech.io/devices=*')
  })
})
