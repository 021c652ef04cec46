/** CLUSTER-12: whatever comes to be between Kubernetes, the manager and the API, only a deletion that was asked for takes a cluster along. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { Namespace } from '#apis/kubernetes.ts'
import { silent } from '#operator/model/log.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { KUBERNETES as KUBERNETES_LABEL, REGISTRATION } from './labels.ts'
import { DeletedDeployments, removeLateRegistrations } from './late-registrations.ts'
import { KubernetesIdentity } from './record/origin.ts'
import type { ClusterRecord } from './record/record.ts'

const NOW = new Date('2026-03-01T08:00:00Z')
const DAY_MS = 24 * 3_600_000

const KUBERNETES = 'uid-of-kube-system'

const aDeployment = (name: string, registration: string): ClusterDeployment =>
  aClusterDeployment({ name, annotations: { [REGISTRATION]: registration } })

const aRecord = (name: string, registration: string): ClusterRecord => ({
  id: `cluster-of-${registration}`,
  href: '',
  name,
  generation: 1,
  createdAt: 0,
  deleting: false,
  labels: { [REGISTRATION]: registration },
  owner: { namespace: name, name },
  registration,
  attempt: 1,
  specDigest: '',
  conditions: [],
})

/** One sweep. @returns the ids of the clusters that it deletes */
const sweep = async (
  deleted: DeletedDeployments,
  records: readonly ClusterRecord[],
  there: ReadonlyMap<string, ClusterDeployment>,
  now = NOW,
  lease = new AbortController(),
): Promise<readonly string[]> => {
  const removed: string[] = []
  const swept = new Error('swept')
  const { signal } = lease
  await removeLateRegistrations(
    {
      deleted,
      records: { of: (registration) => records.filter((record) => record.registration === registration) },
      kubernetes: new KubernetesIdentity([]),
      hyperfleet: {
        remove: async (_, id) => {
          removed.push(id)
        },
      },
    },
    {
      api: {
        get: async (kind: unknown, name: string) =>
          kind === Namespace ? { metadata: { uid: KUBERNETES } } : there.get(name),
      } as never,
      clock: {
        now: () => now,
        sleep: async () => {
          if (!signal.aborted) throw swept
        },
      },
      log: silent,
      signal,
    },
  ).catch((error: unknown) => {
    if (error !== swept) throw error
  })
  return removed
}

const NAMES = ['one', 'two'] as const
const STEPS = [
  'declare',
  'delete',
  'preserve',
  'finish',
  'restoreKubernetes',
  'deliver',
  'copy',
  'deleteCopy',
  'changeLeader',
] as const

/** A lost lease ends what removes late registrations. */
const loseLease = async (deleted: DeletedDeployments): Promise<void> => {
  const lease = new AbortController()
  lease.abort()
  await sweep(deleted, [], new Map(), NOW, lease)
}

test('CLUSTER-12: no history of restores, copies, two managers and clusters that are preserved has a cluster deleted that was not to go', async () => {
  const steps = fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.constantFrom(...NAMES)), {
    minLength: 100,
    maxLength: 200,
  })
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      // The one that leads is the first.
      const managers = [new DeletedDeployments(), new DeletedDeployments()] as const
      let [leader, other] = managers
      const there = new Map<string, ClusterDeployment>()
      const records = new Map<string, ClusterRecord>()
      /** What is to go with its ClusterDeployment, as people said last. */
      const isUnwanted = new Set<string>()
      /** Of those, what the one that leads let go itself. */
      const isKnown = new Set<string>()
      for (const [step, name] of history) {
        const registration = `registration-of-${name}`
        const deployment = aDeployment(name, registration)
        if (step === 'declare') {
          // As its reconcile.
          there.set(name, deployment)
          leader.forget(deployment)
          isUnwanted.delete(registration)
          isKnown.delete(registration)
          records.set(registration, aRecord(name, registration))
        }
        if (step === 'delete' && there.has(name)) isUnwanted.add(registration)
        if (step === 'preserve' && there.has(name)) {
          leader.forget(deployment)
          isUnwanted.delete(registration)
          isKnown.delete(registration)
        }
        if (step === 'finish' && there.delete(name) && isUnwanted.has(registration)) {
          leader.add(deployment, NOW)
          isKnown.add(registration)
          records.delete(registration)
        }
        // Nothing tells the manager of it: its next list shows less.
        if (step === 'restoreKubernetes') there.delete(name)
        if (step === 'deliver') records.set(registration, aRecord(name, registration))
        const copy = aDeployment('copy', registration)
        if (step === 'copy') there.set('copy', copy)
        if (step === 'deleteCopy') {
          leader.add(copy, NOW)
          there.delete('copy')
        }
        if (step === 'changeLeader') {
          await loseLease(leader)
          ;[leader, other] = [other, leader]
          isKnown.clear()
        }
        const removed = await sweep(leader, [...records.values()], there)
        expect(removed.filter((id) => !isUnwanted.has(id.replace('cluster-of-', '')))).toEqual([])
        // And what was deleted for good does not stay.
        for (const record of records.values())
          if (isKnown.has(record.registration ?? '') && !there.has(record.name)) expect(removed).toContain(record.id)
      }
    }),
    { numRuns: 300 },
  )
})

test('CLUSTER-12: after a day nothing of it is remembered', async () => {
  const deleted = new DeletedDeployments()
  deleted.add(aDeployment('one', 'a'), NOW)
  const late = [aRecord('one', 'a')]
  expect(await sweep(deleted, late, new Map(), new Date(NOW.getTime() + DAY_MS - 1))).toEqual(['cluster-of-a'])
  expect(await sweep(deleted, late, new Map(), new Date(NOW.getTime() + DAY_MS))).toEqual([])
})

test('CLUSTER-16: what another Kubernetes cluster registered by the same id stays', async () => {
  const deleted = new DeletedDeployments()
  deleted.add(aDeployment('one', 'a'), NOW)
  const theirs = { ...aRecord('one', 'a'), labels: { [REGISTRATION]: 'a', [KUBERNETES_LABEL]: 'another' } }
  expect(await sweep(deleted, [theirs], new Map())).toEqual([])
})
