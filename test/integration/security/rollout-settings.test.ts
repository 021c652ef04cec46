/**
 * The author of a Deployment lets its rollout go on without an approval: by the settings of the rollout, or by what an annotation is not. On an
 * API server with the install as it is shipped; no operator runs, so a status is what the test writes.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
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
