/**
 * Pools, clusters, claims and customizations from a backup: by kubectl apply, object by object and in any order, while managers work; and by
 * an etcd that is an hour back. No cluster is lost, none doubled, and no customization is in two clusters. POOL-52.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { RESTORE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import type { KubeObject, Resource } from '#operator/index.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { repetitions } from '#test/harness/deep.ts'
import { backUpEtcd } from '#test/harness/etcd-backup.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { startObserver } from './observer.ts'
import { eventually, type PoolWorld, poolWorld, type RunningManager } from './world.ts'

const LONG = 120_000
const LISTED = ['a', 'b', 'c']
const KINDS = [ClusterPool, ClusterDeploymentCustomization, ClusterClaim, ClusterDeployment] as const

let plane: OwnControlPlane
let the: PoolWorld
let folder: string
let running: RunningManager | undefined

beforeAll(async () => {
  plane = await startControlPlane()
  for (const file of ['policies/assignments.yaml', 'policies/rights.yaml', 'rbac/people.yaml'])
    await plane.kubectl('apply', '--server-side', '-f', `kustomize/base/${file}`)
  the = await poolWorld(plane)
  folder = await mkdtemp(join(tmpdir(), 'muster-restore-'))
  const role = '--clusterrole=muster-admission-clusterpool'
  const group = `--group=system:serviceaccounts:${the.namespace}`
  await plane.kubectl('create', 'clusterrolebinding', 'test-pools', role, group)
  await plane.kubectl('create', 'clusterrolebinding', 'test-editor', '--clusterrole=muster-editor', '--user=editor')
}, 180_000)

afterAll(async () => {
  await the?.[Symbol.asyncDispose]()
  await plane?.stop()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

/** Everything of the pools, as `kubectl get -o json` has it. */
const all = async (): Promise<readonly KubeObject[]> => {
  const found: KubeObject[] = []
  for (const resource of KINDS as readonly Resource[])
    for await (const object of the.api.list(resource))
      if (object.metadata.namespace === the.namespace || resource === ClusterDeployment) found.push(object)
  return found
}

/** As people save it: what the API server and controllers write of an object's life is left out. */
const saved = ({ apiVersion, kind, metadata, spec }: KubeObject) => {
  const { name, namespace, labels, annotations, finalizers } = metadata
  return { apiVersion, kind, metadata: { name, namespace, labels, annotations, finalizers }, spec }
}

const labelled = (object: ReturnType<typeof saved>) => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, [RESTORE_LABEL]: 'true' } },
})

const apply = async (object: object, ...options: readonly string[]): Promise<string> => {
  const file = join(folder, 'object.json')
  await writeFile(file, JSON.stringify(object))
  try {
    await plane.kubectl('apply', '-f', file, ...options)
    return 'applied'
  } catch (error) {
    return String(error)
  }
}

const clustersByName = async () => {
  const clusters = [...(await the.clusters('first')), ...(await the.clusters('second'))]
  return new Map(clusters.map((cluster) => [cluster.metadata.name, cluster]))
}

/** Each customization is in at most one cluster, and its lease names that one. */
const expectLeasesToAgree = async (names: readonly string[]) => {
  const users = new Map<string, string[]>()
  for (const { metadata, spec } of (await clustersByName()).values()) {
    const name = spec.clusterPoolRef?.clusterDeploymentCustomization?.name ?? ''
    users.set(name, [...(users.get(name) ?? []), metadata.name])
  }
  for (const name of names) {
    const { status } = await the.get.customization(name)
    const held = status?.clusterDeploymentRef?.name
    expect([name, users.get(name) ?? []]).toEqual([name, held === undefined ? [] : [held]])
  }
}

const expectFilled = async () => {
  for (const name of ['first', 'second'])
    expect((await the.get.pool(name)).status).toMatchObject({ size: 1, ready: 1, claimed: name === 'first' ? 1 : 0 })
}

const expectClaimed = async (name: string, namespace: string | undefined) => {
  const { spec, status } = await the.get.claim(name)
  expect(spec.namespace).toBe(namespace)
  expect(findCondition(status?.conditions, 'ClusterRunning')?.status).toBe('True')
}

/** What is there before it is lost, and how it was saved. */
interface Saved {
  readonly backup: readonly ReturnType<typeof saved>[]
  /** Names of the clusters. */
  readonly clusters: readonly string[]
  /** Of the claimed cluster. */
  readonly namespace: string | undefined
}

/** All is lost but the clusters themselves: nothing that takes them down runs. */
const lose = async (): Promise<void> => {
  for (const { kind, metadata } of await all()) {
    const resource = KINDS.find((one) => one.kind === kind) as Resource
    const at = { name: metadata.name, namespace: metadata.namespace, type: 'merge' } as const
    await the.api.delete(resource, metadata.name, metadata.namespace)
    await the.api.patch(resource, { ...at, body: { metadata: { finalizers: null } } }).catch(() => {})
  }
  expect(await all()).toEqual([])
}

/** Object by object, while a manager works; then the label is taken off as docs/operate.md says. */
const restore = async ({ backup, clusters, namespace }: Saved, order: readonly number[]): Promise<void> => {
  for (const index of order) expect(await apply(labelled(backup[index] as Saved['backup'][number]))).toBe('applied')
  await eventually(async () => {
    const stalled = findCondition((await the.get.pool('first')).status?.conditions, 'Stalled')
    expect(stalled).toMatchObject({ status: 'True', reason: 'Restoring' })
    expect(stalled?.message).toContain('clusters that came back: 2, claimed ones among them: 1')
    await expectLeasesToAgree(LISTED)
    for (const name of LISTED) expect((await the.get.customization(name)).status?.clusterDeploymentRef).toBeDefined()
  }, LONG)
  expect([...(await clustersByName()).keys()].toSorted()).toEqual(clusters)

  // What the adapters report is what it was: they run and are installed.
  for (const { metadata, spec } of (await clustersByName()).values()) {
    const at = { name: metadata.name, namespace: metadata.namespace, subresource: 'status', type: 'merge' } as const
    await the.api.patch(ClusterDeployment, { ...at, body: { status: { powerState: spec.powerState } } })
  }
  for (const kind of ['clusterdeploymentcustomizations', 'clusterdeployments', 'clusterclaims', 'clusterpools'])
    await plane.kubectl('label', kind, '--all', '-A', `${RESTORE_LABEL}-`)
  await eventually(async () => {
    await expectFilled()
    await expectClaimed('mine', namespace)
    await expectLeasesToAgree(LISTED)
  }, LONG)
  // Nothing is outdated by having come back.
  await eventually(async () => {
    for (const name of ['first', 'second']) {
      const { status } = await the.get.pool(name)
      expect(findCondition(status?.conditions, 'AllClustersCurrent')).toMatchObject({ status: 'True' })
      expect(findCondition(status?.conditions, 'Ready')).toMatchObject({ status: 'True', reason: 'Filled' })
    }
  }, LONG)
  expect([...(await clustersByName()).keys()].toSorted()).toEqual(clusters)
}

/** The places of the backup's objects, those of the kinds that come first in front. */
const placesBy = ({ backup }: Saved, kinds: readonly string[]): number[] =>
  backup
    .map((_, index) => index)
    .toSorted((a, b) => kinds.indexOf(backup[a]?.kind ?? '') - kinds.indexOf(backup[b]?.kind ?? ''))

test('a whole namespace set comes back by kubectl apply, in whatever order and under the eyes of managers', {
  timeout: 600_000 * repetitions({ deep: 10, slice: 1 }),
}, async () => {
  const transport = await plane.transport()
  const manager = await the.start()
  await the.customize(LISTED)
  for (const name of ['first', 'second']) await the.pool(name, { size: 1, runningCount: 1, inventory: LISTED })
  await the.claim('mine', 'first', { subjects: [{ kind: 'User', name: 'ann' }] })
  await eventually(async () => {
    await expectFilled()
    expect(findCondition((await the.get.claim('mine')).status?.conditions, 'ClusterRunning')?.status).toBe('True')
  }, LONG)
  const { namespace } = (await the.get.claim('mine')).spec
  const before: Saved = {
    backup: (await all()).map(saved),
    clusters: [...(await clustersByName()).keys()].toSorted(),
    namespace,
  }
  await manager.stop()
  await the.installer.stop()
  await lose()

  const { backup } = before
  const cluster = backup.find(({ kind, metadata }) => kind === 'ClusterDeployment' && metadata.name === namespace)
  const claim = backup.find(({ kind }) => kind === 'ClusterClaim')
  if (cluster === undefined || claim === undefined) throw new Error('the backup lacks the claim or its cluster')
  await eventually(async () => {
    expect(await apply(cluster, '--dry-run=server')).toContain('can’t be made claimed')
    expect(await apply(claim, '--dry-run=server')).toContain('namespace is written by the controller')
    expect(await apply(labelled(claim), '--dry-run=server', '--as=editor')).toContain('spec.namespace is written by')
  })

  const places = backup.map((_, index) => index)
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(places, { minLength: places.length, maxLength: places.length }),
      async (order) => {
        await running?.stop()
        await lose()
        const observer = await startObserver(transport, the.namespace)
        running = await the.start()
        await restore(before, order)
        expect(observer.twice).toEqual([])
        await observer.stop()
      },
    ),
    {
      // A failure is told with its order, and none is looked for that is simpler: each takes as long as all before it.
      numRuns: repetitions({ deep: 50, slice: 6 }),
      endOnFailure: true,
      examples: [
        [placesBy(before, ['ClusterPool', 'ClusterDeploymentCustomization', 'ClusterClaim', 'ClusterDeployment'])],
        [placesBy(before, ['ClusterClaim', 'ClusterDeployment', 'ClusterPool', 'ClusterDeploymentCustomization'])],
      ],
    },
  )
  await transport.close()
})

test('an etcd that is put back to an earlier moment: what was then is again, and nothing more is taken down', {
  timeout: 400_000,
}, async () => {
  const { namespace } = (await the.get.claim('mine')).spec
  const then = [...(await clustersByName()).values()].map(({ metadata }) => metadata.uid).toSorted()
  const backup = await backUpEtcd(plane)

  // The future that will not have been: more customizations, a second claim, the first one given back.
  await eventually(() => the.customize(['d', 'e']), LONG)
  const inventory = { ClusterDeploymentCustomizations: [...LISTED, 'd', 'e'].map((name) => ({ name })), attempts: 3 }
  await the.change('first', { inventory })
  await the.api.delete(ClusterClaim, 'mine', the.namespace)
  await the.claim('later', 'first')
  await eventually(async () => {
    // No installer runs: what is missing to a cluster's life is written by hand.
    for (const { metadata, spec, status } of (await clustersByName()).values()) {
      const at = { name: metadata.name, namespace: metadata.namespace, type: 'merge' } as const
      if (metadata.deletionTimestamp !== undefined)
        await the.api.patch(ClusterDeployment, {
          ...at,
          body: { metadata: { finalizers: metadata.finalizers?.filter((one) => !one.includes('deprovision')) ?? [] } },
        })
      else if (status?.powerState !== spec.powerState || !spec.installed) {
        await the.api.patch(ClusterDeployment, { ...at, body: { spec: { installed: true } } })
        const body = { status: { powerState: spec.powerState } }
        await the.api.patch(ClusterDeployment, { ...at, subresource: 'status', body })
      }
    }
    expect(await the.api.get(ClusterClaim, 'mine', the.namespace)).toBeUndefined()
    expect((await the.get.claim('later')).spec.namespace).toBeDefined()
  }, LONG)

  // A watch from the future would show nothing: all that watches is started again.
  await running?.stop()
  await backup.restore()
  await the.start()
  await eventually(async () => {
    await expectFilled()
    await expectClaimed('mine', namespace)
    await expectLeasesToAgree(LISTED)
    expect(await the.api.get(ClusterClaim, 'later', the.namespace)).toBeUndefined()
  }, LONG)
  expect([...(await clustersByName()).values()].map(({ metadata }) => metadata.uid).toSorted()).toEqual(then)

  // And the pools work: a claim has its cluster, and another one is made for it.
  await the.customize(['f'])
  await the.change('first', {
    inventory: { ...inventory, ClusterDeploymentCustomizations: [...LISTED, 'f'].map((name) => ({ name })) },
  })
  await the.claim('next', 'first')
  await eventually(async () => {
    expect((await the.get.claim('next')).spec.namespace).toBeDefined()
    expect((await the.get.customization('f')).status?.clusterDeploymentRef).toBeDefined()
  }, LONG)
})
