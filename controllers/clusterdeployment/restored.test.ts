/** ClusterDeployments that come from a backup, and outages of the HyperFleet API. */
import { expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { decide } from './decide.ts'
import { REGISTRATION } from './labels.ts'
import { buildStatus, buildSummaryStatus } from './status.ts'

const NOW = new Date('2026-03-01T08:00:00Z')

const KUBERNETES = { own: 'uid-of-kube-system', former: [] }

const aDeployment = (installed: boolean, registration?: string): ClusterDeployment =>
  aClusterDeployment(
    { uid: 'uid-now', ...(registration !== undefined && { annotations: { [REGISTRATION]: registration } }) },
    { installed },
  )

test('CLUSTER-11: one that was installed in an earlier life and has no record is broken, and not registered again', () => {
  const { step, stopped } = decide(
    { deployment: aDeployment(true, 'uid-before'), records: [], kubernetes: KUBERNETES },
    NOW,
  )
  expect([step.do, stopped?.reason]).toEqual(['Nothing', 'RecordGone'])
})

test.each([
  ['was not installed', aDeployment(false, 'uid-before')],
  ['is installed, and was registered in this life', aDeployment(true, 'uid-now')],
])('one that %s is registered', (_, deployment) => {
  expect(decide({ deployment, records: [], kubernetes: KUBERNETES }, NOW).step.do).toBe('Register')
})

test('since when the HyperFleet API answers again is told after an outage, and only then', () => {
  const deployment = aDeployment(false)
  const decision = decide({ deployment, records: [], kubernetes: KUBERNETES }, NOW)
  const reachable = (conditions: NonNullable<ClusterDeployment['status']>['conditions']) =>
    findCondition(conditions, 'APIReachable')
  const conditionsOf = (status: unknown) => (status as ClusterDeployment['status'])?.conditions
  expect(reachable(conditionsOf(buildStatus(deployment, decision, NOW)))).toBeUndefined()

  const outage = { type: 'Reconciling', reason: 'APIUnreachable', message: 'no answer' } as const
  const conditions = conditionsOf(buildSummaryStatus(deployment, outage, NOW)) ?? []
  expect(reachable(conditions)).toMatchObject({ status: 'False', lastTransitionTime: '2026-03-01T08:00:00Z' })
  const later = new Date('2026-03-01T09:00:00Z')
  const after = buildStatus({ ...deployment, status: { conditions } }, decision, later)
  expect(reachable(conditionsOf(after))).toMatchObject({ status: 'True', lastTransitionTime: '2026-03-01T09:00:00Z' })
})
