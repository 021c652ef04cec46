import { expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { decide } from './decide.ts'
import { isExpired, lifetimeOf } from './lifetime.ts'

const CREATED = '2026-01-01T06:00:00Z'

const cluster = (deleteAfter?: string, spec: Partial<ClusterDeployment['spec']> = {}): ClusterDeployment => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterDeployment',
  metadata: {
    name: 'one',
    namespace: 'clusters',
    uid: 'uid',
    resourceVersion: '1',
    creationTimestamp: CREATED,
    ...(deleteAfter !== undefined && { annotations: { 'hive.openshift.io/delete-after': deleteAfter } }),
  },
  spec: {
    baseDomain: 'example.com',
    clusterName: 'one',
    platform: { aws: { region: 'eu-1' } },
    installed: true,
    powerState: 'Running',
    ...spec,
  },
})

test.each<readonly [annotation: string | undefined, expected: string | undefined]>([
  ['8h', '2026-01-01T14:00:00.000Z'],
  ['1h30m', '2026-01-01T07:30:00.000Z'],
  ['0s', '2026-01-01T06:00:00.000Z'],
  ['87601h', undefined],
  [`${'9'.repeat(100)}h`, undefined],
  [undefined, undefined],
])('CLUSTER-70: with delete-after %j it expires at %s', (annotation, expected) => {
  const { expiresAt, problem } = lifetimeOf(cluster(annotation))
  expect(expiresAt && new Date(expiresAt).toISOString()).toBe(expected)
  expect(problem).toBeUndefined()
})

test.each(['', '8', '-8h', '8 hours'])(
  'CLUSTER-70: with delete-after %j it never expires, and why is told',
  (annotation) => {
    const { expiresAt, problem } = lifetimeOf(cluster(annotation))
    expect(expiresAt).toBeUndefined()
    expect(problem).toContain('is not a duration')
  },
)

test('CLUSTER-70: it expires at that moment, not before', () => {
  const expiresAt = Date.parse('2026-01-01T14:00:00Z')
  expect(isExpired(cluster('8h'), new Date(expiresAt - 1))).toBe(false)
  expect(isExpired(cluster('8h'), new Date(expiresAt))).toBe(true)
  expect(isExpired(cluster(), new Date(expiresAt))).toBe(false)
})

const KUBERNETES = { own: 'own', former: [] }

test.each<readonly [scenario: string, spec: Partial<ClusterDeployment['spec']>]>([
  ['installed, without a record', {}],
  ['not installed, whose lease is not its own', { installed: false }],
  ['claimed', { clusterPoolRef: { namespace: 'pools', poolName: 'pool', claimName: 'mine' } }],
])(
  'CLUSTER-70: whatever else there is to be done about one that is %s, it is deleted when its time has come, and is looked at then',
  (_, spec) => {
    const observed = {
      deployment: cluster('8h', spec),
      records: [],
      kubernetes: KUBERNETES,
      readLeaseProblem: 'customization x is leased to cluster y',
    }
    expect(decide(observed, new Date('2026-01-01T14:00:00Z')).step.do).toBe('Delete')
    const before = decide(observed, new Date('2026-01-01T13:59:59Z'))
    expect(before.step.do).not.toBe('Delete')
    expect(before.recheckAt).toBe(Date.parse('2026-01-01T14:00:00Z'))
  },
)
