import { describe, expect, test } from 'vitest'
import { type ClaimedCluster, decide, type Observed, withFinalizerRejection, withGrantRejection } from './decide.ts'

const NOW = new Date('2026-03-01T10:00:00Z')
const HOUR = 3_600_000

const cluster = (says: Partial<ClaimedCluster> = {}): ClaimedCluster => ({
  claim: 'mine',
  claimedAt: NOW.getTime() - HOUR,
  deleting: false,
  marked: false,
  power: 'Running',
  awaited: undefined,
  lacksKubeconfigOf: undefined,
  hibernationDesired: false,
  apiURL: 'https://one.example:6443',
  ...says,
})

const claim = (says: Partial<Observed> = {}): Observed => ({
  name: 'mine',
  deleting: false,
  spec: { clusterPoolName: 'pool', namespace: 'pool-1' },
  pool: { limits: undefined, deleting: false, notReady: undefined },
  cluster: cluster(),
  ...says,
})

const decided = (says: Partial<Observed>): string => {
  const { action, conditions } = decide(claim(says), NOW)
  return [action, ...conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)].join(', ')
}

const WAITS = { spec: { clusterPoolName: 'pool' }, cluster: undefined }

test('CLAIM-11: a claim has the URL of its own cluster, and of no other', () => {
  expect(decide(claim(), NOW).apiURL).toBe('https://one.example:6443')
  expect(decide(claim({ cluster: cluster({ apiURL: undefined }) }), NOW).apiURL).toBeUndefined()
  for (const other of [{ claim: 'other' }, { claim: undefined }])
    expect(decide(claim({ cluster: cluster(other) }), NOW).apiURL).toBeUndefined()
})

test('CLAIM-3: a claim on a pool that does not exist says so', () => {
  const [said] = decide(claim({ ...WAITS, pool: undefined }), NOW).conditions
  expect(said).toEqual({
    type: 'Pending',
    status: 'True',
    reason: 'PoolNotFound',
    message: 'there is no ClusterPool pool in this namespace: create it, or claim from another one',
  })
})

test.each<[string, Partial<Observed>, string]>([
  ['it waits: the pool speaks', WAITS, 'None'],
  ['its cluster runs', {}, 'GrantSubjects, Pending False ClusterClaimed, ClusterRunning True Running'],
  [
    'its cluster wakes up',
    { cluster: cluster({ power: 'Resuming' }) },
    'GrantSubjects, Pending False ClusterClaimed, ClusterRunning False Resuming',
  ],
  ['its cluster does not know yet', { cluster: cluster({ claim: undefined }) }, 'None, Pending True ClusterAssigned'],
  [
    'CLAIM-4: its cluster is another’s',
    { cluster: cluster({ claim: 'other' }) },
    'None, Pending True AssignmentConflict',
  ],
  ['its cluster is deleted', { cluster: cluster({ deleting: true }) }, 'None, ClusterRunning False ClusterDeleting'],
  ['its cluster is gone', { cluster: undefined }, 'None, ClusterRunning False ClusterDeleted'],
  ['it goes: its cluster is marked', { deleting: true }, 'MarkCluster, ClusterRunning False ClusterDeleting'],
  [
    'it goes: its cluster was marked',
    { deleting: true, cluster: cluster({ marked: true }) },
    'None, ClusterRunning False ClusterDeleting',
  ],
  ['it goes, and its cluster is gone', { deleting: true, cluster: undefined }, 'LetGo'],
  ['it goes, and the cluster is another’s', { deleting: true, cluster: cluster({ claim: 'other' }) }, 'LetGo'],
])('%s', (_what, says, expected) => expect(decided(says)).toBe(expected))

test.each<[string, Partial<Observed>, string | undefined]>([
  ['its pool is not there yet', { ...WAITS, pool: undefined }, 'Reconciling PoolNotFound'],
  ['it waits', WAITS, 'Reconciling NoClusters'],
  ['its cluster does not know yet', { cluster: cluster({ claim: undefined }) }, 'Reconciling ClusterAssigned'],
  ['its cluster is another’s', { cluster: cluster({ claim: 'other' }) }, 'Reconciling AssignmentConflict'],
  ['its cluster runs', {}, 'Ready Running'],
  ['its cluster wakes up', { cluster: cluster({ power: 'Resuming' }) }, 'Reconciling Resuming'],
  [
    'its cluster sleeps, as is wanted',
    { cluster: cluster({ power: 'Hibernating', hibernationDesired: true }) },
    'Ready Hibernating',
  ],
  ['its cluster sleeps and is to wake', { cluster: cluster({ power: 'Hibernating' }) }, 'Reconciling Resuming'],
  [
    'its cluster is to sleep',
    { cluster: cluster({ power: 'Stopping', hibernationDesired: true }) },
    'Reconciling Resuming',
  ],
  ['its cluster is deleted', { cluster: cluster({ deleting: true }) }, 'Reconciling ClusterDeleting'],
  ['its cluster is gone', { cluster: undefined }, 'Stalled ClusterDeleted'],
  ['it goes with its cluster', { deleting: true }, 'Reconciling ClusterDeleting'],
  ['it goes, and its cluster is gone', { deleting: true, cluster: undefined }, undefined],
])('how a claim stands when %s', (_when, says, expected) => {
  const said = decide(claim(says), NOW).kstatus
  expect(said && `${said.type} ${said.reason}`).toBe(expected)
})

test('CLAIM-12: a claim that waits says why its pool is not Ready, in one word', () => {
  const pool = { limits: undefined, deleting: false, notReady: 'QuotaExceeded' }
  expect(decide(claim({ ...WAITS, pool }), NOW).kstatus?.message).toBe(
    'waits for a cluster of the pool pool, which says QuotaExceeded',
  )
  expect(decide(claim(WAITS), NOW).kstatus?.message).toBe('waits for a cluster of the pool pool')
})

test('CLAIM-12: one whose cluster wakes up says what the cluster awaits', () => {
  const awaited = 'ClusterLocal: its provider gives no answer'
  const { kstatus, conditions } = decide(claim({ cluster: cluster({ power: 'Resuming', awaited }) }), NOW)
  const message = `the cluster is Resuming: ${awaited}`
  expect(kstatus?.message).toBe(message)
  expect(conditions).toContainEqual({ type: 'ClusterRunning', status: 'False', reason: 'Resuming', message })
})

describe('CLAIM-13: the provider of its cluster has written no kubeconfig', () => {
  const without = (says: Partial<ClaimedCluster> = {}) =>
    decide(claim({ cluster: cluster({ lacksKubeconfigOf: 'nosuch', ...says }) }), NOW)
  const message =
    'the cluster has no kubeconfig: the provider nosuch, which its label names, has written none; is it installed, and the label right?'

  test('it is not Running, and says so; its subjects are let in', () => {
    const { action, kstatus, conditions } = without()
    expect(action).toBe('GrantSubjects')
    expect(kstatus).toEqual({ type: 'Reconciling', reason: 'NoKubeconfig', message })
    expect(conditions).toContainEqual({ type: 'ClusterRunning', status: 'False', reason: 'NoKubeconfig', message })
  })

  test('while the cluster is on the way or sleeps, that is told', () => {
    expect(without({ power: 'Resuming' }).kstatus?.reason).toBe('Resuming')
    expect(without({ power: 'Hibernating', hibernationDesired: true }).kstatus).toMatchObject({ type: 'Ready' })
  })
})

describe('CLAIM-5: lifetime', () => {
  test.each([
    ['none at all', undefined, undefined, undefined, undefined],
    ['the claim’s', '1h', undefined, undefined, '1h'],
    ['the pool’s default', undefined, '2h', undefined, '2h'],
    ['the claim’s before the default', '1h', '2h', undefined, '1h'],
    ['the maximum when nothing else is declared', undefined, undefined, '3h', '3h'],
    ['the claim’s below the maximum', '2h', undefined, '3h', '2h'],
    ['the maximum below the claim’s', '4h', undefined, '3h', '3h'],
    ['the maximum below the default', undefined, '240m', '3h', '3h'],
    ['in Go’s small units', '7200000000us', undefined, '3h', '7200000000us'],
  ] as const)('%s', (_what, own, byDefault, maximum, expected) => {
    const spec = { clusterPoolName: 'pool', namespace: 'pool-1', ...(own !== undefined && { lifetime: own as '1h' }) }
    const limits = { ...(byDefault && { default: byDefault }), ...(maximum && { maximum }) }
    const decision = decide(claim({ spec, pool: { limits, deleting: false, notReady: undefined } }), NOW)
    expect(decision.lifetime).toBe(expected)
  })

  const lasting = (lifetime: '1h' | '61m') =>
    decide(claim({ spec: { clusterPoolName: 'pool', namespace: 'pool-1', lifetime } }), NOW)

  test('a claim whose time is over is deleted', () => expect(lasting('1h').action).toBe('DeleteClaim'))

  test('before that it says when to look again', () => {
    expect(lasting('61m')).toMatchObject({
      action: 'GrantSubjects',
      recheckAt: new Date(NOW.getTime() + 60_000),
    })
  })
})

test.each([
  ['it may not grant', 403, 'Stalled'],
  ['a subject is wrong', 422, 'Stalled'],
  ['the API server is out of order', 500, 'Reconciling'],
] as const)(
  'a claim whose subjects could not be let in is not Ready, says what to do and goes on: %s',
  (_why, status, kstatus) => {
    const decision = decide(claim(), NOW)
    expect(withGrantRejection(decision, claim(), { status, message: 'the words of the API server' })).toEqual({
      ...decision,
      kstatus: {
        type: kstatus,
        reason: 'SubjectsNotGranted',
        message:
          'who may use the cluster is not as spec.subjects says: the words of the API server; let the manager’s ServiceAccount write Roles and RoleBindings in namespace pool-1, or correct spec.subjects: it is tried again',
      },
    })
  },
)

test.each([
  ['a webhook refuses it', 403, 'Stalled'],
  ['a webhook does not answer', 500, 'Reconciling'],
] as const)(
  'CLAIM-8: a claim to which no finalizer can be added says so, with the words of the API server: %s',
  (_why, status, kstatus) => {
    const decision = decide(claim(), NOW)
    expect(withFinalizerRejection(decision, { status, message: 'not during the audit' })).toEqual({
      ...decision,
      kstatus: {
        type: kstatus,
        reason: 'FinalizerNotAdded',
        message:
          'the finalizer, without which the cluster would outlive its claim, can’t be added: not during the audit; it is tried again',
      },
    })
  },
)
