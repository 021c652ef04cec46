import { describe, expect, test } from 'vitest'
import { describeHeld as describeHeldResources } from '#controllers/adapter/daemon/inferred-deletions.ts'
import { describeHeld as describeHeldClusters } from '#controllers/clusterpool/decide/inferred-deletions.ts'
import { type UnneededKey, UnneededKeyBrake } from '#controllers/fleet/state/unneeded-keys.ts'
import type { KubeSight } from '#test/worlds/suite/observer/sights.ts'
import { type BrakeSight, holdsOf, unlisted } from './holds.ts'
import { emptySight, type Sight } from './invariants.ts'

const object = (kind: string, name: string, more: Partial<KubeSight> = {}): KubeSight => ({
  kind,
  metadata: { name, namespace: 'n', uid: name, resourceVersion: '1' },
  spec: {},
  ...more,
})

const sight = (more: Partial<Sight>): Sight => ({ ...emptySight, ...more })

const nothing: BrakeSight = { metrics: { fleet: 0, ClusterPool: 0, AdapterTask: 0 }, fleetMessage: undefined }

const holding = (message: string) => ({ conditions: [{ type: 'DeletionsHeld', status: 'True', message }] })

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

/** So many inventories of a task whose resources the API does not have, and what the task says. */
const adapters = (gone: number, message: string | undefined, retention?: string): Sight =>
  sight({
    objects: {
      AdapterTask: [
        object('AdapterTask', 'dns', {
          spec: { retention: { whenResourceGone: retention } },
          ...(message !== undefined && { status: holding(message) }),
        }),
      ],
      AdapterInventory: [
        ...range(gone).map((index) =>
          object('AdapterInventory', `i${index}`, { spec: { task: 'dns', resourceId: `r${index}` } }),
        ),
        object('AdapterInventory', 'there', { spec: { task: 'dns', resourceId: 'there' } }),
        object('AdapterInventory', 'other', { spec: { task: 'other', resourceId: 'gone-as-well' } }),
      ],
    },
    nodePools: ['there'],
  })

/** What the brake of a task says of so many. */
const saidOf = (count: number): string => {
  const deletions = range(count).map((index) => ({ key: `r${index}`, revision: '', why: 'gone' as const }))
  return describeHeldResources({ verdict: 'Held', deletions, release: '0123456789ab', limit: 20, total: 30 })
}

// RUNTIME-47, ADAPTER-75
describe('an adapter', () => {
  const counted = (count: number): BrakeSight => ({ ...nothing, metrics: { ...nothing.metrics, AdapterTask: count } })

  test('that lists all that it holds, by its own words, is right', () => {
    expect(unlisted(adapters(24, saidOf(24)), counted(24))).toEqual([])
    expect(holdsOf(adapters(24, saidOf(24)), counted(24))).toMatchObject([{ brake: 'AdapterTask n/dns', count: 24 }])
    expect(unlisted(adapters(20, undefined), nothing)).toEqual([])
    expect(unlisted(adapters(30, undefined, 'Keep'), nothing)).toEqual([])
  })

  test('that holds more, less or others than are gone, or says nothing of them, is found', () => {
    expect(unlisted(adapters(21, undefined), nothing)).toEqual([
      `AdapterTask n/dns lists none of ${range(21)
        .map((index) => `r${index}`)
        .join(', ')}`,
    ])
    expect(unlisted(adapters(22, saidOf(21)), counted(21))).toEqual([
      'AdapterTask n/dns says that it holds 21, and it is to hold 22',
    ])
    expect(unlisted(adapters(1, saidOf(2)), counted(2))).toEqual([
      'AdapterTask n/dns says that it holds 2, and it is to hold 1',
      'AdapterTask n/dns lists 1 of r1, and it is to hold 0',
    ])
    expect(unlisted(adapters(2, saidOf(2)), nothing)).toEqual(['the metrics of AdapterTask say 0, the lists 2'])
  })
})

// RUNTIME-47, POOL-53
describe('a pool', () => {
  const lost = (name: string): KubeSight => ({
    ...object('ClusterDeployment', name, {
      spec: { clusterPoolRef: { namespace: 'n' } },
      status: { conditions: [{ type: 'Stalled', status: 'True', reason: 'RecordGone' }] },
    }),
    metadata: {
      name,
      namespace: name,
      uid: name,
      resourceVersion: '1',
      labels: { 'hive.openshift.io/clusterpool-name': 'north' },
    },
  })
  const pools = (names: readonly string[], message: string | undefined, deletionBrake?: object): Sight =>
    sight({
      objects: {
        ClusterPool: [
          object('ClusterPool', 'north', {
            spec: { deletionBrake },
            ...(message !== undefined && { status: holding(message) }),
          }),
        ],
        ClusterDeployment: names.map(lost),
      },
    })
  const said = (names: readonly string[]): string =>
    describeHeldClusters({
      deletions: names.map((name) => ({ key: name, revision: '', name, why: 'its record is gone' })),
      release: '0123456789ab',
      limit: 0,
    })
  const counted = (count: number): BrakeSight => ({ ...nothing, metrics: { ...nothing.metrics, ClusterPool: count } })

  test('that lists what it lost is right, and so is one that lost few', () => {
    expect(unlisted(pools(['a-1', 'b-2'], said(['a-1', 'b-2'])), counted(2))).toEqual([])
    expect(unlisted(pools(['a-1', 'b-2'], undefined), nothing)).toEqual([])
  })

  test('that lists none or others is found, by the limits of its own', () => {
    const strict = { percent: 0, least: 0 }
    expect(unlisted(pools(['a-1'], undefined, strict), nothing)).toEqual(['ClusterPool n/north lists none of a-1'])
    expect(unlisted(pools(['a-1'], said(['b-2']), strict), counted(1))).toEqual([
      'ClusterPool n/north lists 1 of b-2, and it is to hold 0',
    ])
  })
})

// RUNTIME-47, FLEET-61
describe('the fleet', () => {
  const keysOf = (count: number): readonly string[] => range(count).map((index) => `fleet-desired m${index}.n.web`)
  const brakeOf = (keys: readonly string[]): BrakeSight => {
    const unneeded = keys.map((key): UnneededKey => {
      const [device = '', namespace = '', deployment = ''] = key.replace('fleet-desired ', '').split('.')
      const placement = { device, namespace, deployment }
      return { key, revision: 1, placement, reason: 'DeploymentGone', isInherited: true }
    })
    const { held } = new UnneededKeyBrake().decide(unneeded, keys.length, undefined, 0)
    return { metrics: { ...nothing.metrics, fleet: held?.count ?? 0 }, fleetMessage: held?.message }
  }

  test('that lists the keys that nothing needs is right; an old message is none', () => {
    const brakes = brakeOf(keysOf(9))
    expect(unlisted(sight({ keys: keysOf(9) }), brakes)).toEqual([])
    expect(unlisted(sight({}), { ...brakes, metrics: nothing.metrics })).toEqual([])
  })

  test('that lists fewer, or none, is found', () => {
    expect(unlisted(sight({ keys: keysOf(8) }), brakeOf(keysOf(9)))).toEqual([
      'fleet says that it holds 9, and it is to hold 8',
      'fleet lists 9 of n/web, and it is to hold 8',
    ])
    expect(unlisted(sight({ keys: keysOf(21) }), nothing)).toEqual(['fleet lists none of n/web'])
  })
})
