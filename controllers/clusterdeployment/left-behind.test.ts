/** CLUSTER-42: a cluster that the API lost keeps its customization while something of it may be left. */
import { describe, expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { ApiError } from '#operator/client/errors.ts'
import type { Resource } from '#operator/model/resource.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { unknownGone } from './gone-clusters.ts'
import { NOTHING_LEFT, REGISTRATION } from './labels.ts'
import { LostClusters } from './lost-clusters.ts'

const NOW = Date.parse('2026-03-01T08:00:00Z')
const MINUTE = 60_000
const ID = 'cluster-1'

const condition = (type: string) =>
  ({ type, status: 'True', reason: 'Said', message: '', lastTransitionTime: '2026-03-01T07:00:00Z' }) as const

/** It was installed by these adapters. */
const lost = (reporters: readonly string[], annotations: Readonly<Record<string, string>> = {}): ClusterDeployment => ({
  ...aClusterDeployment({ annotations }),
  status: {
    hyperfleet: { id: ID, href: '' },
    conditions: reporters.map((name) => condition(`${name}Successful`)),
  },
})

interface Says {
  readonly tasks?: readonly string[]
  readonly inventories?: readonly { readonly for: string; readonly of?: string; readonly objects: number }[]
  /** Clusters that the API has. */
  readonly there?: readonly string[]
  readonly archived?: object
  readonly status?: number
}

/** What is said two minutes after the loss was noticed. */
const judge = async (
  cluster: ClusterDeployment,
  { tasks = [], inventories = [], there = [], archived, status }: Says,
) => {
  const clusters = new LostClusters()
  const api = {
    list: async function* (resource: Resource) {
      if (status !== undefined) throw new ApiError({ kind: 'Status', code: status } as never)
      if (resource !== (AdapterInventory as unknown)) {
        for (const name of tasks) yield { metadata: { name, namespace: 'here' }, spec: { adapter: { name } } }
        return
      }
      for (const one of inventories) {
        const owner = one.of === undefined ? {} : { owner_references: { id: one.of, kind: 'Cluster' } }
        const event = { id: one.for, kind: one.of === undefined ? 'Cluster' : 'NodePool', ...owner }
        const spec = { task: 'dns', resourceId: one.for, event, objects: Array(one.objects).fill({}) }
        yield { metadata: { name: 'x', namespace: 'here' }, spec }
      }
    },
  } as never
  const asked: string[] = []
  const hyperfleet = {
    get: async (_: string, id: string) => (there.includes(id) ? { id } : undefined),
    getArchived: async (_: string, id: string) => {
      asked.push(id)
      return archived
    },
  }
  let object = cluster
  const at = async (ms: number) => {
    const sources = { hyperfleet, api, now: new Date(ms), signal: new AbortController().signal }
    const gone = await clusters.findGone(object, [], sources)
    const loss = await clusters.judge(object, gone, sources)
    object = { ...object, status: { ...object.status, goneClusters: [...loss.gone] } }
    return loss
  }
  const first = await at(NOW)
  expect(first.leftBehind).toBeUndefined()
  const { until, leftBehind } = await at(NOW + 2 * MINUTE)
  expect(until).toBeLessThanOrEqual(NOW + 2 * MINUTE)
  expect(asked.length, 'the archive is asked once').toBeLessThanOrEqual(1)
  return leftBehind
}

interface Report {
  readonly Health?: string
  readonly generation?: number
  readonly at?: string
}

describe('CLUSTER-42: what adapters left of a lost cluster', () => {
  test('is nothing when all its adapters have tasks here and none of these has an inventory of it', async () => {
    expect(await judge(lost(['Dns', 'PullSecret']), { tasks: ['dns', 'pull-secret'] })).toBeUndefined()
    const others = { tasks: ['dns'], inventories: [{ for: 'cluster-2', objects: 1 }] }
    expect(await judge(lost(['Dns']), others)).toBeUndefined()
    expect(await judge(lost(['Dns']), { tasks: ['dns'], inventories: [{ for: ID, objects: 0 }] })).toBeUndefined()
  })

  test('is what an inventory has of it, or of a node pool of it', async () => {
    const said = await judge(lost(['Dns']), { tasks: ['dns'], inventories: [{ for: ID, objects: 3 }] })
    expect(said).toMatch(/AdapterTask here\/dns has 3 objects of it in its inventory\..*nothing-left=cluster-1$/)
    const below = { tasks: ['dns'], inventories: [{ for: 'pool-1', of: ID, objects: 1 }] }
    expect(await judge(lost(['Dns']), below)).toContain('has 1 objects')
  })

  test('is not known of adapters that have no task here, such as those of a member cluster', async () => {
    expect(await judge(lost(['Dns', 'Member']), { tasks: ['dns'] })).toContain(
      'what the adapters Member applied is not seen in this Kubernetes cluster',
    )
  })

  test.each([403, 404])('is not known when tasks and inventories can’t be read: %i', async (status) => {
    expect(await judge(lost(['Dns']), { status })).toContain('the adapters Dns applied')
  })

  test('is no matter once a person has said of this record that nothing is left', async () => {
    expect(await judge(lost(['Member'], { [NOTHING_LEFT]: ID }), {})).toBeUndefined()
    expect(await judge(lost(['Member'], { [NOTHING_LEFT]: 'cluster-0' }), {})).toContain('Member')
  })

  test('is told of each lost record; a person may name several, and what is known to be gone needs no look', async () => {
    const earlier = (id: string, nothingLeft: boolean) => ({
      id,
      time: '2026-03-01T07:00:00Z',
      nothingLeft,
      reportedBy: ['MemberSuccessful'],
    })
    const several = (annotation = ''): ClusterDeployment => {
      const cluster = lost(['Dns'], { [NOTHING_LEFT]: annotation })
      return {
        ...cluster,
        status: { ...cluster.status, goneClusters: [earlier('cluster-0', false), earlier('cluster-a', true)] },
      }
    }
    const message = await judge(several(), { tasks: ['dns'], inventories: [{ for: ID, objects: 1 }] })
    expect(message).toMatch(
      /^the .* lost cluster cluster-0, .*adapters Member.*\. the .* lost cluster cluster-1, .* 1 objects/,
    )
    expect(message).toMatch(/nothing-left=cluster-0,cluster-1$/)
    expect(await judge(several('cluster-0'), { tasks: ['dns'] })).toBeUndefined()
    expect(await judge(several('cluster-1, cluster-0'), {})).toBeUndefined()
  })

  test('is said by the adapters themselves in the archive, where the record went as it should, or after they had cleaned up', async () => {
    expect(await judge(lost(['Member']), { archived: { statuses: [] } })).toBeUndefined()
    const deleted_time = '2026-03-01T07:00:00.000000Z'
    const forced = (adapter: string, Applied: string, more: Report = {}) => {
      const { Health = 'True', generation = 2, at = '2026-03-01T07:30:00.000000Z' } = more
      const conditions = Object.entries({ Applied, Health }).map(([type, status]) => ({ type, status }))
      return {
        forced: { by: 'x', reason: 'y' },
        resource: { id: ID, generation: 2, deleted_time },
        statuses: [{ adapter, observed_generation: generation, last_report_time: at, conditions }],
      }
    }
    expect(await judge(lost(['Member']), { archived: forced('member', 'False') })).toBeUndefined()
    expect(await judge(lost(['Member']), { archived: forced('member', 'True') })).toContain('Member')
    // Of what was there before the deletion, or of an installation that is half done.
    for (const more of [{ Health: 'False' }, { generation: 1 }, { at: '2026-03-01T06:00:00.000000Z' }])
      expect(await judge(lost(['Member']), { archived: forced('member', 'False', more) })).toContain('Member')
    expect(await judge(lost([]), { archived: forced('late', 'True') })).toContain('Late')
  })
})

describe('CLUSTER-57: what adapters left of the lost cluster of a ClusterDeployment from a backup, which has no status', () => {
  const restored = (annotations: Readonly<Record<string, string>> = {}) =>
    aClusterDeployment({ uid: 'uid-now', annotations: { [REGISTRATION]: 'uid-before', ...annotations } })

  test('may be what an inventory has of a cluster that the API does not have, or of a node pool of one', async () => {
    for (const one of [{ for: 'cluster-9' }, { for: 'pool-9', of: 'cluster-9' }]) {
      const inventories = [
        { for: 'cluster-8', objects: 1 },
        { objects: 2, ...one },
      ]
      const message = await judge(restored(), { tasks: ['dns'], inventories, there: ['cluster-8'] })
      expect(message).toMatch(
        /^the HyperFleet API has lost the cluster of registration uid-before, .* here\/dns has 2 objects of cluster cluster-9 .*nothing-left=uid-before$/,
      )
      expect(await judge(restored({ [NOTHING_LEFT]: 'uid-before' }), { inventories })).toBeUndefined()
    }
  })

  test('is nothing when the API has all clusters of which inventories have anything', async () => {
    const inventories = [
      { for: 'cluster-8', objects: 1 },
      { for: 'pool-8', of: 'cluster-8', objects: 2 },
    ]
    expect(await judge(restored(), { tasks: ['dns'], inventories, there: ['cluster-8'] })).toBeUndefined()
    expect(await judge(restored(), { inventories: [{ for: 'cluster-9', objects: 0 }] })).toBeUndefined()
  })

  test('is looked for only when it was registered, and its record is not there', () => {
    expect(unknownGone(restored(), [])).toBe('uid-before')
    expect(unknownGone(restored(), [{ id: ID }])).toBeUndefined()
    expect(unknownGone(aClusterDeployment(), [])).toBeUndefined()
    const registered = aClusterDeployment({ uid: 'uid-now', annotations: { [REGISTRATION]: 'uid-now' } })
    expect(unknownGone(registered, [])).toBeUndefined()
    expect(unknownGone({ ...restored(), status: { hyperfleet: { id: ID, href: '' } } }, [])).toBeUndefined()
  })
})
