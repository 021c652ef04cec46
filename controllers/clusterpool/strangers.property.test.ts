/**
 * What others make, in namespaces that no pool made, changes nothing of what a pool plans, whatever it is called and whatever it says: POOL-104, POOL-105, POOL-107.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace } from '#apis/kubernetes.ts'
import type { Api, Resource } from '#operator/index.ts'
import { aClaim, aCluster, aCustomization, aPool, minutes, NAMESPACE } from '#test/worlds/clusterpool/builders.ts'
import { firstSources, indexLists } from '#test/worlds/clusterpool/listed.ts'
import { applyBrake, createBrake } from './decide/brake.ts'
import { findInferredDeletions } from './decide/inferred-deletions.ts'
import { decide } from './decide.ts'
import { toObserved } from './model/observed.ts'
import { readPoolObjects } from './observe.ts'

const NOW = minutes(60)
const LISTED = ['a', 'b', 'c'] as const
/** A cluster that a lease names, and that was never made. */
const UNMADE = 'pool-x'

const owns = fc.record({
  isDeleted: fc.boolean(),
  own: fc.array(fc.constantFrom('silent', 'answers', 'claimed', 'leaving'), { maxLength: 2 }),
  isLeased: fc.boolean(),
  since: fc.constantFrom(0, 58),
})
type Owns = typeof owns extends fc.Arbitrary<infer Value> ? Value : never

const baits = fc.array(
  fc.record({
    name: fc.constantFrom(UNMADE, 'own-0', 'bait'),
    namespace: fc.constantFrom(UNMADE, 'mallory'),
    says: fc.constantFrom('silent', 'answers', 'claimed', 'leaving'),
    customization: fc.constantFrom(undefined, ...LISTED),
    isOfPool: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
)
type Baits = typeof baits extends fc.Arbitrary<infer Value> ? Value : never

const clusterThat = (name: string, says: Owns['own'][number], pool: ClusterPool, customization?: string) => {
  const cluster = aCluster(name, {
    pool,
    ...(customization !== undefined && { customization }),
    ...((says === 'silent' || says === 'answers') && { unreachable: 'for long' as const }),
    ...(says === 'claimed' && { claim: 'mine' }),
    ...(says === 'leaving' && { ending: true }),
  })
  const conditions = cluster.status?.conditions?.map((one) =>
    says === 'answers' && one.type === 'Unreachable' ? { ...one, status: 'False' as const } : one,
  )
  return { ...cluster, status: { ...cluster.status, conditions } } as ClusterDeployment
}

const namespaceNamed = (name: string, labels?: Readonly<Record<string, string>>): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  spec: {},
  metadata: { name, uid: `uid-of-${name}`, resourceVersion: '1', creationTimestamp: minutes(0).toISOString(), labels },
})

/** What the pool would do next. */
const planOf = async ({ isDeleted, own, isLeased, since }: Owns, strangers: Baits) => {
  const pool = aPool({ size: 2, inventory: [...LISTED], deleted: isDeleted })
  const { uid } = pool.metadata
  const made = own.map((says, at) => clusterThat(`own-${at}`, says, pool, LISTED[at]))
  const others = strangers.map(({ name, namespace, says, customization, isOfPool }) => {
    const bait = clusterThat(name, says, pool, customization)
    const spec = isOfPool ? bait.spec : { ...bait.spec, clusterPoolRef: undefined }
    return { ...bait, metadata: { ...bait.metadata, namespace, uid: `uid-${namespace}-${name}` }, spec }
  }) as ClusterDeployment[]
  const clusters = [...made, ...others]
  const customizations = LISTED.map((name, at) => {
    if (at < made.length) return aCustomization(name, { cluster: `own-${at}` })
    return aCustomization(name, isLeased && name === 'c' ? { cluster: UNMADE, since } : {})
  })
  const labelled = made.map(({ metadata }) => namespaceNamed(metadata.namespace ?? '', { [POOL_LABELS.uid]: uid }))
  const claims = [aClaim('mine')]
  const get = async (resource: Resource, name: string, namespace?: string) => {
    if (resource === Namespace) return labelled.find(({ metadata }) => metadata.name === name) ?? namespaceNamed(name)
    const objects: readonly (ClusterDeployment | ClusterClaim)[] =
      resource === ClusterDeployment ? clusters : resource === ClusterClaim ? claims : []
    return objects.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace)
  }
  const indexes = indexLists({ clusters, customizations, namespaces: labelled, claims })
  const read = await readPoolObjects(
    pool,
    { missing: [], imageSet: 'NotServed', template: undefined, secrets: [], readAt: NOW.getTime() },
    firstSources({ get } as unknown as Api, indexes, NOW),
  )
  const observed = toObserved(read)
  const inferred = findInferredDeletions(observed, NOW)
  const braked = applyBrake(observed, inferred, createBrake(pool, 0), 0, indexes.askedClusters)
  let count = 0
  const suffix = () => {
    count += 1
    return `new${count}`
  }
  return decide({ ...observed, ...braked }, { now: NOW, suffix })
}

test(`attack: clusters in namespaces of their authors, in any number, with any names, states and references; a pool of ${NAMESPACE} plans as if there were none`, async () => {
  await fc.assert(
    fc.asyncProperty(owns, baits, async (found, strangers) => {
      expect(await planOf(found, strangers)).toEqual(await planOf(found, []))
    }),
    { numRuns: 300 },
  )
})
