/** What a ClusterDeployment is told of its own record, and of others', while Kubernetes and the API do not agree. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { Namespace } from '#apis/kubernetes.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { decide } from './decide.ts'
import { CUSTOMIZATION, KUBERNETES as KUBERNETES_LABEL, REGISTRATION } from './labels.ts'
import { LostClusters } from './lost-clusters.ts'
import { observe } from './observe.ts'
import { desiredLabels, desiredSpec } from './record/desired-record.ts'
import { KubernetesIdentity, originLabels } from './record/origin.ts'

const NOW = new Date('2026-03-01T08:00:00Z')
const KUBERNETES = 'uid-of-kube-system'

const aDeployment = (name: string, uid: string, registration?: string): ClusterDeployment =>
  aClusterDeployment(
    { name, uid, ...(registration !== undefined && { annotations: { [REGISTRATION]: registration } }) },
    {
      installed: false,
      clusterPoolRef: { namespace: 'pools', poolName: 'small', clusterDeploymentCustomization: { name: 'leased' } },
    },
  )

const LEASE = (holder: string) => ({
  metadata: { name: 'leased', namespace: 'pools' },
  spec: {},
  status: {
    conditions: [{ type: 'Available', status: 'False' }],
    clusterDeploymentRef: { name: holder, namespace: holder },
  },
})

/** As a manager registered it. */
const aRegistered = (deployment: ClusterDeployment, registration: string, labels: object = {}) => ({
  id: `cluster-of-${registration}`,
  href: '',
  name: deployment.metadata.name,
  generation: 1,
  created_time: NOW.toISOString(),
  labels: { ...desiredLabels(deployment, registration), ...originLabels(deployment, KUBERNETES), ...labels },
  spec: desiredSpec(deployment, 1),
  status: { conditions: [] },
})

type Item = ReturnType<typeof aRegistered>

const observed = async (deployment: ClusterDeployment, items: readonly Item[], former: readonly string[] = []) => {
  const objects = new Map<unknown, unknown>([
    [ClusterDeployment, deployment],
    [ClusterDeploymentCustomization, LEASE(deployment.metadata.name)],
    [Namespace, { metadata: { uid: KUBERNETES } }],
  ])
  const hyperfleet = {
    list: async (_: string, { labels = '' }: { readonly labels?: string }) => {
      const [key = '', value] = labels.split('=')
      return { items: items.filter((item) => (item.labels as Record<string, string>)[key] === value) }
    },
    get: async (_: string, id: string) => items.find((item) => item.id === id),
  }
  const found = await observe(deployment, {
    api: { get: async (kind: unknown) => objects.get(kind) } as never,
    hyperfleet: hyperfleet as never,
    kubernetes: new KubernetesIdentity(former),
    lost: new LostClusters(),
    now: NOW,
    signal: new AbortController().signal,
  })
  if (found === undefined) throw new Error('not there')
  return found
}

test('CLUSTER-13: its own record is no other user of its customization, also when a restored etcd forgot that it was marked', async () => {
  const forgotten = aDeployment('one', 'uid-of-one')
  const { step } = decide(await observed(forgotten, [aRegistered(forgotten, 'uid-of-one')]), NOW)
  expect(step).toEqual({ do: 'Mark', registration: 'uid-of-one' })
})

test('CLUSTER-13: whatever is restored, a ClusterDeployment waits for another cluster and never for its own', async () => {
  const uids = fc.constantFrom('uid-a', 'uid-b')
  await fc.assert(
    fc.asyncProperty(
      uids,
      fc.option(uids, { nil: undefined }),
      fc.option(uids, { nil: undefined }),
      async (...drawn) => {
        const [uid, annotation, registered] = drawn
        const deployment = aDeployment('one', uid, annotation)
        const items = registered === undefined ? [] : [aRegistered(aDeployment('one', registered), registered)]
        const { step, kstatus } = decide(await observed(deployment, items), NOW)
        const own = annotation ?? uid
        expect(kstatus.reason === 'CustomizationInUse').toBe(registered !== undefined && registered !== own)
        // It is never registered a second time, and for one from a backup adapters are given a while first (CLUSTER-57).
        const isLost = registered === undefined && annotation !== undefined && annotation !== uid
        expect(step.do === 'Register').toBe(annotation === uid && registered === undefined)
        expect(kstatus.message.includes('adapters have a while')).toBe(isLost)
      },
    ),
  )
})

test('CLUSTER-16: the record of another Kubernetes cluster that shares the API is not this one’s, whatever the annotation says', async () => {
  const taken = aDeployment('one', 'uid-here', 'uid-there')
  const theirs = aRegistered(taken, 'uid-there', { [KUBERNETES_LABEL]: 'uid-of-theirs' })
  const { step, kstatus, record } = decide(await observed(taken, [theirs]), NOW)
  expect([step.do, kstatus.reason, record]).toEqual(['Nothing', 'RegistrationConflict', undefined])
  expect(kstatus.message).toBe(
    'cluster cluster-of-uid-there was registered by another Kubernetes cluster (uid-of-theirs): remove the annotation hyperfleet.redhat.com/registration here to get a cluster of its own, or have the manager take it over with --former-kubernetes-uids when this one was restored from that',
  )
})

test('CLUSTER-16: after a restore into another Kubernetes cluster the manager takes over what the former one registered, when it is told so', async () => {
  const former = 'uid-of-theirs'
  const restored = aDeployment('one', 'uid-here', 'uid-there')
  const items = [
    {
      ...aRegistered(restored, 'uid-there'),
      labels: { ...desiredLabels(restored, 'uid-there'), ...originLabels(restored, former) },
    },
  ]
  const { step, record } = decide(await observed(restored, items, [former]), NOW)
  // Nothing is written: alone it would be a new generation.
  expect([step.do, record?.id]).toEqual(['Nothing', 'cluster-of-uid-there'])

  const other = aDeployment('two', 'uid-of-two')
  const waiting = decide(await observed(other, items, [former]), NOW)
  expect(waiting.kstatus.reason).toBe('CustomizationInUse')
})

test.each([
  ['another customization', { [CUSTOMIZATION]: 'forged' }, 'Change'],
  ['none, as of an older version', { [CUSTOMIZATION]: undefined, [KUBERNETES_LABEL]: undefined }, 'Nothing'],
])('CLUSTER-15: a record that says %s is put right where that is false', async (_, labels, step) => {
  const deployment = aDeployment('one', 'uid-of-one', 'uid-of-one')
  const found = decide(await observed(deployment, [aRegistered(deployment, 'uid-of-one', labels)]), NOW)
  expect(found.step.do).toBe(step)
})
