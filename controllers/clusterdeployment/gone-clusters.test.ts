/** CLUSTER-55, CLUSTER-56: which lost records a ClusterDeployment remembers, and when it is registered again after one. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClusterDeployment, ClusterDeploymentSpec } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { decide } from './decide.ts'
import { type GoneCluster, isGoneKnown, keptGone, waitsForLost } from './gone-clusters.ts'
import { REGISTRATION } from './labels.ts'
import { LostClusters } from './lost-clusters.ts'
import { buildStatus } from './status.ts'

const NOW = new Date('2026-03-01T08:00:00Z')
const KUBERNETES = { own: 'uid-of-kube-system', former: [] }
const CUSTOMIZED = {
  clusterPoolRef: { namespace: 'pools', poolName: 'small', clusterDeploymentCustomization: { name: 'leased' } },
}

const aGone = (id: string, more: Partial<GoneCluster> = {}): GoneCluster => ({
  id,
  time: NOW.toISOString(),
  nothingLeft: false,
  ...more,
})

const aDeployment = (spec: Partial<ClusterDeploymentSpec> = {}): ClusterDeployment => ({
  ...aClusterDeployment({ annotations: { [REGISTRATION]: 'uid' } }, { installed: false, ...spec }),
  status: { hyperfleet: { id: 'cluster-1', href: '' } },
})

/** What the API and its archive have of records that go and come back. */
const anApi = () => {
  const there = new Set<string>()
  const archive = new Map<string, object>()
  const hyperfleet = {
    get: async (_: unknown, id: string) => (there.has(id) ? { id } : undefined),
    getArchived: async (_: unknown, id: string) => archive.get(id),
  }
  return { there, archive, hyperfleet: hyperfleet as never }
}

const signal = new AbortController().signal

const operation = fc.oneof(
  fc.record({ do: fc.constantFrom('lose', 'force', 'delete', 'pass', 'purge') }),
  fc.record({ do: fc.constant('return' as const), which: fc.nat(20) }),
)

test('no record that the API lost is forgotten, whatever comes back and comes in its place; none that went in order is taken for lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (operations) => {
      const { there, archive, hyperfleet } = anApi()
      const lost = new LostClusters()
      /** How each record that was its cluster went; undefined while it is there. */
      const went = new Map<string, 'lost' | 'in order' | undefined>()
      let object = aClusterDeployment({}, { installed: false })
      const pass = async () => {
        const records = [...there].map((id) => ({ id }))
        const gone = await lost.findGone(object, records as never, { hyperfleet, now: NOW, signal })
        const [id = `cluster-${went.size}`] = there
        there.add(id)
        went.set(id, undefined)
        object = { ...object, status: { hyperfleet: { id, href: '' }, goneClusters: keptGone(gone, id) ?? [] } }
        const left = object.status?.goneClusters?.filter(({ nothingLeft }) => !nothingLeft).map((one) => one.id) ?? []
        const expected = [...went].filter(([, how]) => how === 'lost').map(([key]) => key)
        expect(left.toSorted()).toEqual(expected.toSorted())
        expect(isGoneKnown(object, [{ id }])).toBe(true)
      }
      await pass()
      for (const step of operations) {
        const [present] = there
        if (step.do === 'pass') await pass()
        else if (step.do === 'return') {
          const id = [...went.keys()][step.which]
          if (present !== undefined || id === undefined) continue
          // It is seen to be there before it goes once more.
          there.add(id)
          await pass()
        } else if (step.do === 'purge') {
          // What is gone is seen before the archive forgets it.
          await pass()
          archive.clear()
        } else if (present !== undefined) {
          there.delete(present)
          archive.delete(present)
          went.set(present, step.do === 'delete' ? 'in order' : 'lost')
          if (step.do === 'delete') archive.set(present, { resource: {}, statuses: [] })
          if (step.do === 'force')
            archive.set(present, { forced: {}, resource: { id: present, status: {} }, statuses: [] })
        }
      }
    }),
  )
})

test('a record that is there, and is not its own any more, is no loss', async () => {
  const { there, hyperfleet } = anApi()
  there.add('cluster-1')
  const gone = await new LostClusters().findGone(aDeployment(), [], { hyperfleet, now: NOW, signal })
  expect(gone).toEqual([])
})

test('a time that lies ahead, by the clock of another manager, is now', async () => {
  const { hyperfleet } = anApi()
  const object = aDeployment()
  const goneClusters = [aGone('cluster-1', { time: '2026-03-02T08:00:00Z' })]
  const known = { ...object, status: { ...object.status, goneClusters } }
  const gone = await new LostClusters().findGone(known, [], { hyperfleet, now: NOW, signal })
  expect(gone).toEqual([aGone('cluster-1')])
})

test.each([
  ['with a customization', CUSTOMIZED, 1, true],
  ['without one', {}, 15, false],
  ['without one, that has lost as many as are remembered,', {}, 16, true],
  ['that is installed', { ...CUSTOMIZED, installed: true }, 1, false],
  ['that lost none', CUSTOMIZED, 0, false],
] as const)('one %s is registered again when nothing is left of what it lost: %j', (_, spec, count, waits) => {
  expect(waitsForLost(aDeployment(spec), Array(count).fill(aGone('cluster-1')))).toBe(waits)
})

test('after a loss it is registered when adapters had a while, and nothing is left; until then it says why', () => {
  const deployment = aDeployment(CUSTOMIZED)
  const gone = [aGone('cluster-1')]
  const decided = (until: number, leftBehind?: string, nothingLeft = false) =>
    decide(
      {
        deployment,
        records: [],
        kubernetes: KUBERNETES,
        gone,
        loss: { until, leftBehind, gone: [aGone('cluster-1', { nothingLeft })] },
      },
      NOW,
    )
  const grace = decided(NOW.getTime() + 1)
  expect([grace.step.do, grace.kstatus.type, grace.recheckAt]).toEqual(['Nothing', 'Reconciling', NOW.getTime() + 1])
  const left = decided(NOW.getTime(), 'something is left')
  expect([left.step.do, left.kstatus]).toEqual([
    'Nothing',
    { type: 'Stalled', reason: 'LeftBehind', message: 'something is left' },
  ])
  const status = buildStatus(deployment, left, NOW)
  expect(findCondition(status.conditions as never, 'LeftBehind')).toMatchObject({
    status: 'True',
    message: 'something is left',
  })
  expect(status.goneClusters).toEqual(gone)

  const next = decided(NOW.getTime(), undefined, true)
  expect(next.step.do).toBe('Register')
  const before = { ...deployment, status: { ...deployment.status, conditions: status.conditions as never } }
  const registered = { ...next, record: { id: 'cluster-2', href: '', generation: 1, conditions: [] } as never }
  const after = buildStatus(before, registered, NOW)
  expect(findCondition(after.conditions as never, 'LeftBehind')).toMatchObject({ status: 'False' })
  expect(after.goneClusters).toBeNull()
})
