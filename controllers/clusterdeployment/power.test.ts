import { expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { hibernateTime } from './power.ts'

type Spec = Partial<ClusterDeployment['spec']>
type Status = Partial<NonNullable<ClusterDeployment['status']>>

const INSTALLED = '2026-01-01T06:00:00Z'
const AWAKE = '2026-01-01T08:00:00.500Z'
const POOL = { namespace: 'pools', poolName: 'pool' }

const hibernating = (status: 'True' | 'False', lastTransitionTime: string) => ({
  conditions: [{ type: 'Hibernating', status, lastTransitionTime, reason: 'Said', message: '' }],
})

const cluster = (spec: Spec, status: Status): ClusterDeployment => ({
  ...aClusterDeployment({}, { hibernateAfter: '2h', ...spec }),
  status: { powerState: 'Running', installedTimestamp: INSTALLED, ...hibernating('False', AWAKE), ...status },
})

test.each<readonly [scenario: string, spec: Spec, status: Status, expected: string | undefined]>([
  ['it runs since its installation', {}, hibernating('False', INSTALLED), '2026-01-01T08:00:00.000Z'],
  ['it was woken up since', {}, {}, '2026-01-01T10:00:00.500Z'],
  [
    'it was claimed since',
    { clusterPoolRef: { ...POOL, claimName: 'mine', claimedTimestamp: '2026-01-01T09:00:00Z' } },
    {},
    '2026-01-01T11:00:00.000Z',
  ],
  [
    'it was claimed and woken up for it',
    { clusterPoolRef: { ...POOL, claimName: 'mine', claimedTimestamp: '2026-01-01T07:00:00Z' } },
    {},
    '2026-01-01T10:00:00.500Z',
  ],
  ['it may run for another time', { hibernateAfter: '1h30m' }, {}, '2026-01-01T09:30:00.500Z'],
  ['it is unclaimed: its pool switches it', { clusterPoolRef: POOL }, {}, undefined],
  ['its claim was taken back', { clusterPoolRef: { ...POOL, claimName: '' } }, {}, undefined],
  ['it is not said for how long', { hibernateAfter: undefined }, {}, undefined],
  ['it may run for ever', { hibernateAfter: '0s' }, {}, undefined],
  ['it is being installed', { installed: false }, { powerState: undefined }, undefined],
  ['it is to sleep', { powerState: 'Hibernating' }, {}, undefined],
  ['it falls asleep', {}, { powerState: 'Stopping', ...hibernating('True', AWAKE) }, undefined],
  ['it still wakes up', {}, { powerState: 'Resuming' }, undefined],
  ['it is not known since when it runs', {}, { conditions: [] }, undefined],
  ['machines of its cloud can’t sleep', { platform: { openstack: { cloud: 'one' } } }, {}, undefined],
])('when it is put to sleep: %s', (_, spec, status, expected) => {
  const at = hibernateTime(cluster(spec, status))
  expect(at === undefined ? undefined : new Date(at).toISOString()).toBe(expected)
})
