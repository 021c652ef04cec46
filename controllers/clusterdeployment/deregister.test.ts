/** A ClusterDeployment that is being deleted: when it may go, and what its manager remembers of it. */
import { expect, test } from 'vitest'
import { ClusterDeployment, type ClusterDeploymentSpec } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { Namespace } from '#apis/kubernetes.ts'
import { silent } from '#operator/model/log.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { deregister } from './deregister.ts'
import { KUBERNETES as KUBERNETES_LABEL, REGISTRATION } from './labels.ts'
import { DeletedDeployments, removeLateRegistrations } from './late-registrations.ts'
import { LostClusters } from './lost-clusters.ts'
import { KubernetesIdentity } from './record/origin.ts'
import { recordOf } from './record/record.ts'
import { RecordCache } from './record/record-cache.ts'

const DELETED_AT = '2026-03-01T08:00:00Z'
const NOW = new Date('2026-03-01T09:00:00Z')
const KUBERNETES = 'uid-of-kube-system'

const aDeployment = (
  spec: Partial<ClusterDeploymentSpec> = {},
  annotations: Readonly<Record<string, string>> = { [REGISTRATION]: 'uid-there' },
): ClusterDeployment => aClusterDeployment({ uid: 'uid-here', deletionTimestamp: DELETED_AT, annotations }, spec)

const aCluster = (kubernetes: string, owner = 'one') => ({
  id: 'cluster-of-one',
  href: '',
  name: 'one',
  generation: 1,
  created_time: DELETED_AT,
  labels: { [REGISTRATION]: 'uid-there', [KUBERNETES_LABEL]: kubernetes },
  spec: { clusterDeployment: { namespace: owner, name: owner } },
})

type Cluster = ReturnType<typeof aCluster>

/** A HyperFleet API with one cluster, which no adapter has to clean up. */
const anApi = (...clusters: Cluster[]) => {
  const removed: string[] = []
  return {
    removed,
    clusters,
    client: {
      list: async (_: string, { labels = '' }: { readonly labels?: string }) => ({
        items: clusters.filter((one) => labels === `${REGISTRATION}=${one.labels[REGISTRATION]}`),
      }),
      get: async (_: string, id: string) => clusters.find((one) => one.id === id),
      getArchived: async () => undefined,
      remove: async (_: string, id: string) => {
        removed.push(id)
        clusters.splice(
          clusters.findIndex((one) => one.id === id),
          1,
        )
      },
    },
  }
}

/** One manager before that API, whose stream shows all. */
const aManager = (api: ReturnType<typeof anApi>, former: readonly string[] = []) => {
  const records = new RecordCache()
  records.outage = undefined
  for (const cluster of api.clusters) {
    const record = recordOf(cluster)
    if (record !== undefined) records.put(record)
  }
  const deleted = new DeletedDeployments()
  const hyperfleet = api.client as never
  const kubernetes = new KubernetesIdentity(former)
  const there = new Map<string, ClusterDeployment>()
  const kube = {
    list: async function* () {},
    get: async (kind: unknown, name: string) =>
      kind === Namespace ? { metadata: { uid: KUBERNETES } } : kind === ClusterDeployment ? there.get(name) : undefined,
  }
  const metrics = { installed: () => {}, attemptFailed: () => {}, deprovisioned: () => {} }
  const handle = deregister({ hyperfleet, records, kubernetes, deleted, lost: new LostClusters(), metrics })
  return {
    records,
    deleted,
    /** One pass. @returns whether it goes, the Events, and the condition Stalled */
    async pass(object: ClusterDeployment) {
      const events: string[] = []
      let stalled: unknown
      const say = (reason: string, message: string) => events.push(`${reason}: ${message}`)
      const wait = await handle({
        object,
        api: kube,
        clock: { now: () => NOW },
        signal: new AbortController().signal,
        events: { normal: say, warning: say },
        patch: {
          status: ({ conditions }: { conditions: { type: string; status: string; reason: string }[] }) => {
            const found = conditions.find(({ type }) => type === 'Stalled')
            stalled = found?.status === 'True' ? found.reason : undefined
            Object.assign(object, { status: { conditions } })
          },
        },
      } as never)
      return { goes: wait === undefined, events, stalled }
    },
    async sweep() {
      const swept = new Error('swept')
      const clock = {
        now: () => NOW,
        sleep: async () => {
          throw swept
        },
      }
      const signal = new AbortController().signal
      await removeLateRegistrations(
        { deleted, records, hyperfleet, kubernetes },
        { api: kube as never, clock, log: silent, signal },
      ).catch((error: unknown) => {
        if (error !== swept) throw error
      })
    },
  }
}

test('CLUSTER-17: one whose cluster another Kubernetes cluster registered is held, with what lets it go', async () => {
  const api = anApi(aCluster('other'))
  const manager = aManager(api)
  const object = aDeployment()
  const { goes, events, stalled } = await manager.pass(object)
  expect({ goes, stalled, removed: api.removed }).toEqual({
    goes: false,
    stalled: 'RegistrationConflict',
    removed: [],
  })
  expect(events).toEqual([
    'RegistrationConflict: cluster cluster-of-one was registered by another Kubernetes cluster (other), and lives: when this one was restored from that, tell the manager with --former-kubernetes-uids, and the cluster is deleted. Set preserveOnDelete, or remove the annotation hyperfleet.redhat.com/registration, to let go of it: what it has is leased to others then',
  ])
  expect((await manager.pass(object)).events, 'said once').toEqual([])
})

test.each<[string, ClusterDeployment, ...Cluster[]]>([
  ['its cluster is gone', aDeployment(), aCluster(KUBERNETES, 'one')],
  ['it never had a cluster', aDeployment({}, {})],
  ['its cluster is preserved', aDeployment({ preserveOnDelete: true })],
])(
  'POOL-101: one that finalizers of others hold names them when %s, and not those of Muster',
  async (_, object, ...clusters) => {
    const finalizers = ['hive.openshift.io/deprovision', 'example.com/backup', 'hive.openshift.io/customization-lease']
    const held = { ...object, metadata: { ...object.metadata, finalizers } }
    const { goes } = await aManager(anApi(...clusters)).pass(held)
    expect(goes).toBe(true)
    const ready = held.status?.conditions?.find(({ type }) => type === 'Ready')
    expect([ready?.reason, ready?.message]).toEqual([
      'HeldByFinalizer',
      'Muster is done with it, and it stays until its finalizer example.com/backup is taken off, by the program that set it',
    ])
    const alone = { ...object, metadata: { ...object.metadata, finalizers: finalizers.filter((_, at) => at !== 1) } }
    await aManager(anApi(...clusters)).pass(alone)
    expect(alone.status?.conditions).toBeUndefined()
  },
)

test.each([
  ['its annotation is removed', aDeployment({}, {}), [], 0],
  ['it is to be preserved', aDeployment({ preserveOnDelete: true }), [], 0],
  ['the manager follows that Kubernetes cluster', aDeployment(), ['other'], 1],
])('CLUSTER-17: it goes when %s', async (_, object, former, removed) => {
  const api = anApi(aCluster('other'))
  const { goes } = await aManager(api, former).pass(object)
  expect([goes, api.removed.length]).toEqual([true, removed])
})

test('CLUSTER-17: a copy with another name goes: the cluster was never its own', async () => {
  const { goes } = await aManager(anApi(aCluster('other', 'original'))).pass(aDeployment())
  expect(goes).toBe(true)
})

test('CLUSTER-17: it is held also when its record has lost the label of its registration', async () => {
  const { labels, ...cluster } = aCluster('other')
  const api = anApi({ ...cluster, labels: { ...labels, [REGISTRATION]: '' } })
  const status = { hyperfleet: { id: 'cluster-of-one', href: '', generation: 1 } }
  expect(await aManager(api).pass({ ...aDeployment(), status })).toMatchObject({
    goes: false,
    stalled: 'RegistrationConflict',
  })
})

test('CLUSTER-12: a manager that saw a deletion begin leaves a cluster that another one preserved', async () => {
  const api = anApi(aCluster(KUBERNETES))
  const first = aManager(api)
  first.records.outage = 'no answer'
  expect((await first.pass(aDeployment())).goes).toBe(false)
  expect((await aManager(api).pass(aDeployment({ preserveOnDelete: true }))).goes).toBe(true)
  first.records.outage = undefined
  await first.sweep()
  expect(api.removed).toEqual([])
})
