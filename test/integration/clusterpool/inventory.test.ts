/** The inventory of docs/spec/clusterpool.md on a real API server. Each test has pools of its own. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseInstallConfig } from '#apis/hive.openshift.io/model/install-config.ts'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { Secret } from '#apis/kubernetes.ts'
import { isTrue } from '#operator/model/conditions.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

let the: PoolWorld

beforeAll(async () => {
  the = await poolWorld()
  await the.start()
}, 60_000)

afterAll(async () => {
  await the[Symbol.asyncDispose]()
})

/** What the pool says of its entries: their statuses by name, once they are these. */
const entriesBecome = (pool: string, expected: Readonly<Record<string, string>>) =>
  eventually(async () => {
    const { status } = await the.get.pool(pool)
    const entries = Object.entries(status?.inventory ?? {}).map(([name, entry]) => [name, entry.status])
    expect(Object.fromEntries(entries)).toEqual(expected)
    return status?.inventory ?? {}
  })

/** Resolves when so many unclaimed clusters are installed. */
const filled = (pool: string, size: number) =>
  eventually(async () => {
    const { status } = await the.get.pool(pool)
    expect((status?.ready ?? 0) + (status?.standby ?? 0)).toBe(size)
    expect(status?.size).toBe(size)
    return the.clusters(pool)
  })

const condition = async (pool: string, type: string) => {
  const { status } = await the.get.pool(pool)
  return status?.conditions?.find((one) => one.type === type)
}

const installConfigOf = async (cluster: ClusterDeployment | undefined) => {
  const namespace = cluster?.metadata.namespace ?? ''
  const secret = await the.api.get(Secret, cluster?.spec.provisioning?.installConfigSecretRef?.name ?? '', namespace)
  return parseInstallConfig(Buffer.from(secret?.data?.['install-config.yaml'] ?? '', 'base64').toString())
}

const inventoryOf = (...names: readonly string[]) => ({
  inventory: { ClusterDeploymentCustomizations: names.map((name) => ({ name })), attempts: 3 },
})

describe('customizations of clusters', () => {
  test('POOL-3, POOL-4, POOL-44: the patches of the first available customization make the install-config', async () => {
    await the.customize(['foo'], { installConfigPatches: [{ op: 'replace', path: 'metadata/name', value: 'foo' }] })
    await the.customize(['bar'])
    await the.pool('proposal', { inventory: ['foo', 'bar'] })
    const [cluster] = await filled('proposal', 1)
    expect(await installConfigOf(cluster)).toMatchObject({ metadata: { name: 'foo' }, baseDomain: 'example.com' })
    expect(cluster?.spec.clusterName).toBe('foo')

    // "It will also update the status of all related resources"
    const { name, namespace = '' } = cluster?.metadata ?? { name: '' }
    const entry = (await the.get.pool('proposal')).status?.inventory?.foo
    expect(entry).toMatchObject({ status: 'Reserved', attempts: 3, clusterDeployment: { name, namespace } })
    expect(cluster?.spec.clusterPoolRef?.clusterDeploymentCustomization).toEqual({ name: 'foo' })
    const foo = await the.get.customization('foo')
    expect(foo.status).toMatchObject({
      clusterDeploymentRef: { name, namespace },
      clusterPoolRef: { name: 'proposal', namespace: the.namespace },
    })
    expect(foo.status?.conditions?.find(({ type }) => type === 'Available')).toMatchObject({
      status: 'False',
      reason: 'ClusterDeploymentCustomizationInUse',
      message: `Currently in use by cluster deployment ${name} of clusterpool proposal`,
    })
    // What was applied is stored
    expect(foo.status?.lastAppliedConfiguration).toBe(
      '{"installConfigPatches":[{"op":"replace","path":"metadata/name","value":"foo"}]}',
    )
    expect(cluster?.metadata.finalizers).toContain(LEASE_FINALIZER)
    expect((await the.get.customization('bar')).status?.clusterDeploymentRef).toBeUndefined()

    // "When ClusterDeployment is deleted ... Available condition to true and clusterDeploymentRef to nil"
    await the.change('proposal', { size: 0 })
    await entriesBecome('proposal', { foo: 'Available', bar: 'Available' })
    const released = await the.get.customization('foo')
    expect(released.status?.clusterDeploymentRef).toBeUndefined()
    expect(released.status?.conditions?.find(({ type }) => type === 'Available')?.status).toBe('True')
  })

  test('absent an inventory, clusters have the default install-config and lease nothing', async () => {
    await the.pool('plain', { size: 2 })
    const clusters = await filled('plain', 2)
    for (const cluster of clusters) {
      expect(await installConfigOf(cluster)).toMatchObject({ metadata: { name: cluster.metadata.name } })
      expect(cluster.metadata.finalizers).not.toContain(LEASE_FINALIZER)
    }
    expect((await the.get.pool('plain')).status?.inventory).toBeUndefined()
  })

  test('POOL-6, POOL-56: the lease is held until the cluster is deprovisioned, then released and remembered, then the cluster goes', async () => {
    await the.customize(['held'])
    await the.pool('holding', { inventory: ['held'] })
    const [cluster] = await filled('holding', 1)
    const { name = '', namespace = '' } = cluster?.metadata ?? {}
    the.installer.slow.add('held')
    await the.change('holding', { size: 0 })
    await eventually(async () =>
      expect((await the.api.get(ClusterDeployment, name, namespace))?.metadata.deletionTimestamp).toBeDefined(),
    )
    expect((await the.get.customization('held')).status?.clusterDeploymentRef).toEqual({ name, namespace })
    the.installer.slow.delete('held')
    the.installer.wake()
    await eventually(async () => expect(await the.api.get(ClusterDeployment, name, namespace)).toBeUndefined())
    const { status } = await the.get.customization('held')
    expect(status?.clusterDeploymentRef).toBeUndefined()
    const lease = { clusterDeployment: name, clusterPool: 'holding', outcome: 'Unclaimed' }
    expect(status?.history).toEqual([{ ...lease, leasedAt: expect.any(String), releasedAt: expect.any(String) }])
  })
})

describe('ClusterPool.Status.Inventory', () => {
  test('POOL-12: what does not exist is told, the next entry is used, and it is used once it is there', async () => {
    await the.customize(['there'])
    await the.pool('missing', { size: 2, inventory: ['absent', 'there'] })
    await entriesBecome('missing', { absent: 'Missing', there: 'Reserved' })
    expect(await condition('missing', 'InventoryValid')).toMatchObject({
      status: 'False',
      message: '1 of 2 usable; missing: absent; too few for size 2',
    })
    await the.customize(['absent'])
    await entriesBecome('missing', { absent: 'Reserved', there: 'Reserved' })
    await eventually(async () => expect(await condition('missing', 'InventoryValid')).toMatchObject({ status: 'True' }))
  })

  test('POOL-14: the operation that fails is named, the next entry is used, nothing is left behind', async () => {
    await the.customize(['bad'], { installConfigPatches: [{ op: 'replace', path: '/metadata/nope', value: 'x' }] })
    await the.customize(['good'])
    await the.pool('malformed', { size: 2, inventory: ['bad', 'good'] })
    const entries = await entriesBecome('malformed', { bad: 'BrokenByConfiguration', good: 'Reserved' })
    expect(entries.bad?.message).toContain('replace /metadata/nope')
    expect((await the.get.customization('bad')).status?.clusterDeploymentRef).toBeUndefined()
    expect(await filledAtLeast('malformed', 1)).toHaveLength(1)
  })

  test('attack: the author of a customization has its patches double what they make, again and again; the entry says so, and the manager goes on', async () => {
    const doubling = [
      { op: 'copy', from: '/metadata', path: '/metadata/a' },
      { op: 'copy', from: '/metadata', path: '/metadata/b' },
    ] as const
    const patches = Array.from({ length: 30 }, () => doubling).flat()
    await the.customize(['doubling'], { installConfigPatches: patches })
    await the.customize(['doubling-spec'], { clusterDeploymentSpecPatches: patches })
    await the.customize(['single'])
    await the.pool('doubled', { size: 3, inventory: ['doubling', 'doubling-spec', 'single'] })
    const broken = 'BrokenByConfiguration'
    const entries = await entriesBecome('doubled', { doubling: broken, 'doubling-spec': broken, single: 'Reserved' })
    expect(entries.doubling?.message).toContain('would make more than')
    expect(await filledAtLeast('doubled', 1)).toHaveLength(1)
  })

  test('POOL-15, POOL-56: after so many attempts; editing the customization gives it new ones', async () => {
    the.installer.cursed.add('flaky')
    await the.customize(['flaky'])
    await the.pool('cloud', { inventory: ['flaky'], attempts: 1 })
    const entries = await entriesBecome('cloud', { flaky: 'BrokenByCloud' })
    expect(entries.flaky).toMatchObject({ attempts: 0, failure: { count: 1 } })
    expect(entries.flaky?.message).toContain('the cloud said no')
    await eventually(async () => expect(await the.clusters('cloud')).toEqual([]))
    expect((await the.get.customization('flaky')).status?.history).toMatchObject([
      { outcome: 'Failed', message: expect.stringContaining('the cloud said no') },
    ])
    the.installer.cursed.delete('flaky')
    await edit('flaky', 'corrected')
    await entriesBecome('cloud', { flaky: 'Reserved' })
    await filled('cloud', 1)
  })

  test('POOL-13: another pool uses it, which is named', async () => {
    await the.customize(['shared'])
    await the.pool('first', { inventory: ['shared'] })
    await filled('first', 1)
    await the.pool('second', { inventory: ['shared'] })
    const entries = await entriesBecome('second', { shared: 'Unavailable' })
    expect(entries.shared?.message).toContain(`pool ${the.namespace}/first`)
    expect(await the.clusters('second')).toEqual([])
    // Once released there, it is had here.
    await the.change('first', { size: 0 })
    await entriesBecome('second', { shared: 'Reserved' })
  })
})

const filledAtLeast = (pool: string, size: number) =>
  eventually(async () => {
    const clusters = await the.clusters(pool)
    expect(clusters.length).toBeGreaterThanOrEqual(size)
    return clusters
  })

const edit = (name: string, value: string) =>
  the.api.patch(ClusterDeploymentCustomization, {
    name,
    namespace: the.namespace,
    type: 'merge',
    body: { spec: { installConfigPatches: [{ op: 'replace', path: '/metadata/name', value }] } },
  })

test('POOL-19: an inventory without entries, or with one twice, is refused', async () => {
  await expect(the.pool('empty', { inventory: [] })).rejects.toThrow(/ClusterDeploymentCustomizations/)
  await expect(the.pool('double', { inventory: ['a', 'a'] })).rejects.toThrow(/Duplicate/)
})

describe('Pool Version and Handling Inventory Updates', () => {
  test('POOL-21, POOL-22: adding an inventory makes all unclaimed clusters outdated, and they are replaced; adding an entry does not', async () => {
    await the.pool('growing', { size: 2 })
    const before = (await filled('growing', 2)).map(({ metadata }) => metadata.name)
    const plainVersion = (await the.get.pool('growing')).status?.poolVersion
    await the.customize(['g1', 'g2', 'g3'])
    await the.change('growing', inventoryOf('g1', 'g2'))
    await entriesBecome('growing', { g1: 'Reserved', g2: 'Reserved' })
    const after = (await filled('growing', 2)).map(({ metadata }) => metadata.name)
    expect(after.filter((name) => before.includes(name))).toEqual([])
    const version = (await the.get.pool('growing')).status?.poolVersion
    expect(version).not.toBe(plainVersion)

    await the.change('growing', inventoryOf('g1', 'g2', 'g3'))
    await entriesBecome('growing', { g1: 'Reserved', g2: 'Reserved', g3: 'Available' })
    expect((await the.clusters('growing')).map(({ metadata }) => metadata.name)).toEqual(after)
    expect((await the.get.pool('growing')).status?.poolVersion).toBe(version)

    // Deleting The Inventory
    await the.api.patch(ClusterPool, {
      name: 'growing',
      namespace: the.namespace,
      type: 'merge',
      body: { spec: { inventory: null } },
    })
    await eventually(async () => {
      const { status } = await the.get.pool('growing')
      expect(status?.poolVersion).toBe(plainVersion)
      expect(status?.inventory).toBeUndefined()
    })
    await filled('growing', 2)
    for (const name of ['g1', 'g2', 'g3'])
      expect((await the.get.customization(name)).metadata.finalizers).toBeUndefined()
  })

  test('POOL-23: a removed entry: unused it goes, unclaimed its cluster goes first, claimed it stays with its cluster', async () => {
    await the.customize(['r1', 'r2', 'r3', 'r4'])
    await the.pool('shrinking', { size: 2, runningCount: 1, inventory: ['r1', 'r2', 'r3', 'r4'] })
    await filled('shrinking', 2)
    await the.claim('keeper', 'shrinking')
    const kept = await eventually(async () => {
      const { spec } = await the.get.claim('keeper')
      expect(spec.namespace).toBeDefined()
      return the.api.get(ClusterDeployment, spec.namespace ?? '', spec.namespace ?? '')
    })
    await entriesBecome('shrinking', { r1: 'Reserved', r2: 'Reserved', r3: 'Reserved', r4: 'Available' })
    await filled('shrinking', 2)
    const claimed = kept?.spec.clusterPoolRef?.clusterDeploymentCustomization?.name ?? ''
    const unclaimed = ['r1', 'r2', 'r3'].find((name) => name !== claimed) ?? ''
    const rest = ['r1', 'r2', 'r3'].find((name) => name !== claimed && name !== unclaimed) ?? ''

    await the.change('shrinking', { ...inventoryOf(rest, claimed, unclaimed) })
    await entriesBecome('shrinking', { r1: 'Reserved', r2: 'Reserved', r3: 'Reserved' })
    await the.change('shrinking', inventoryOf(rest, claimed))
    await entriesBecome('shrinking', { [rest]: 'Reserved', [claimed]: 'Reserved' })
    await the.change('shrinking', inventoryOf(rest))
    const entries = await entriesBecome('shrinking', { [rest]: 'Reserved', [claimed]: 'ToBeDeleted' })
    expect(entries[claimed]?.clusterDeployment?.name).toBe(kept?.metadata.name)
    await the.api.delete(ClusterClaim, 'keeper', the.namespace)
    await entriesBecome('shrinking', { [rest]: 'Reserved' })
  })

  test('POOL-25: a free one has its new version; a reserved one is replaced once unclaimed', async () => {
    await the.customize(['u1', 'u2'])
    await the.pool('updating', { inventory: ['u1', 'u2'] })
    const [before] = await filled('updating', 1)
    const free = (await entriesBecome('updating', { u1: 'Reserved', u2: 'Available' })).u2?.version
    await edit('u2', 'u2-anew')
    await eventually(async () => {
      const entry = (await the.get.pool('updating')).status?.inventory?.u2
      expect(entry?.status).toBe('Available')
      expect(entry?.version).not.toBe(free)
    })
    await edit('u1', 'u1-anew')
    await eventually(async () => {
      const [after] = await filled('updating', 1)
      expect(after?.metadata.uid).not.toBe(before?.metadata.uid)
      expect(after?.spec.clusterName).toMatch(/-anew$/)
    })
  })
})

describe('Maintaining the lease', () => {
  test('POOL-2: a manager that loses the write (409) starts over, and the pool is filled', async () => {
    const plane = await sharedControlPlane()
    await using other = await poolWorld()
    await using proxy = await plane.proxy()
    const manager = await other.start({ server: proxy.server })
    await other.customize(['l1'])
    // From now on only a lease is written to it.
    await eventually(async () =>
      expect(isTrue((await other.get.customization('l1')).status?.conditions, 'Ready')).toBe(true),
    )
    let refused = 0
    proxy.decide(({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('clusterdeploymentcustomizations/l1/status') || refused >= 2)
        return 'pass'
      refused += 1
      return { status: 409 }
    })
    await other.pool('losing', { inventory: ['l1'] })
    await eventually(async () =>
      expect((await other.get.pool('losing')).status?.inventory?.l1?.status).toBe('Reserved'),
    )
    expect(refused).toBe(2)
    expect(await manager.registry.getSingleMetricAsString('muster_clusterpool_conflicts_total')).toMatch(/\} 2$/m)
    expect(await other.clusters('losing')).toHaveLength(1)
  })

  test('POOL-41: what is forbidden for a moment is told with its 403, and tried again soon', async () => {
    await using other = await poolWorld()
    await using proxy = await other.plane.proxy()
    let forbidden = 0
    proxy.decide(({ method, path }) => {
      if (method !== 'POST' || path.split('?', 1)[0] !== '/api/v1/namespaces' || forbidden >= 2) return 'pass'
      forbidden += 1
      return { status: 403 }
    })
    const manager = await other.start({ server: proxy.server })
    await other.customize(['l2'])
    await other.pool('forbidden', { inventory: ['l2'] })
    await eventually(async () => expect((await other.get.pool('forbidden')).status).toMatchObject({ standby: 1 }))
    expect(forbidden).toBe(2)
    expect(manager.lines.join('\n')).toMatch(/403/)
  })
})
