import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { grantSubjects } from './grant-writes.ts'
import { buildGrants, clusterSecrets } from './grants.ts'

const cluster = (clusterMetadata?: object, spec: object = {}): ClusterDeployment =>
  aClusterDeployment({ uid: 'uid-one' }, { ...(clusterMetadata && { clusterMetadata }), ...spec })

const claim: ClusterClaim = {
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterClaim',
  metadata: { name: 'mine', namespace: 'pools', uid: 'uid-mine', resourceVersion: '1' },
  spec: { clusterPoolName: 'small', namespace: 'one', subjects: [{ kind: 'User', name: 'ann' }] },
}

/** The Secrets that the Role names which is written for the claim. @param there the Secrets beside the cluster, and whether the pool put them there */
const granted = async (of: ClusterDeployment, there: Readonly<Record<string, boolean>>): Promise<readonly string[]> => {
  const roles: ReturnType<typeof buildGrants>[] = []
  const api = {
    get: async (_: unknown, name: string) =>
      name in there
        ? { metadata: { name, labels: there[name] ? { [POOL_LABELS.uid]: 'uid-of-pool' } : {} } }
        : undefined,
    apply: async (_: unknown, object: { readonly kind: string }) => {
      if (object.kind === 'Role') roles.push({ role: object } as never)
    },
  }
  const none = { get: () => [] }
  await grantSubjects(claim, of, { roles: none, bindings: none } as never, api as never)
  return (roles[0]?.role.rules ?? [])
    .filter(({ resources }) => resources.includes('secrets'))
    .flatMap(({ resourceNames }) => resourceNames)
}

test('CLAIM-6: a cluster that names no Secrets grants none, and one that is named half grants what it names', () => {
  expect(clusterSecrets(cluster())).toEqual([])
  const metadata = { adminKubeconfigSecretRef: { name: 'kubeconfig' }, adminPasswordSecretRef: null }
  expect(clusterSecrets(cluster(metadata))).toEqual(['kubeconfig'])
})

test('CLAIM-6: the Role is of its own ClusterDeployment, by name, and of the Secrets with its kubeconfig and password', () => {
  const metadata = {
    adminKubeconfigSecretRef: { name: 'kubeconfig' },
    adminPasswordSecretRef: { name: 'password' },
    metadataJSONSecretRef: { name: 'metadata' },
  }
  const of = cluster(metadata)
  expect(buildGrants(claim, of, clusterSecrets(of)).role.rules).toEqual([
    {
      apiGroups: ['hive.openshift.io'],
      resources: ['clusterdeployments'],
      resourceNames: ['one'],
      verbs: ['get', 'list', 'watch', 'patch'],
    },
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['kubeconfig', 'password'], verbs: ['get'] },
  ])
})

test.each<[string, object]>([
  ['the pull secret', { pullSecretRef: { name: 's' } }],
  ['the install-config', { provisioning: { installConfigSecretRef: { name: 's' } } }],
  ['the credentials of the platform', { platform: { vsphere: { credentialsSecretRef: { name: 's' } } } }],
])('CLAIM-9: %s is granted to no claim, though the cluster names it for its users', (_, spec) => {
  const metadata = { adminKubeconfigSecretRef: { name: 's' }, adminPasswordSecretRef: { name: 'password' } }
  expect(clusterSecrets(cluster(metadata, spec))).toEqual(['password'])
})

test('CLAIM-9: whatever a cluster names for its users, they get nothing that its pool put beside it', async () => {
  const names = fc.constantFrom('kubeconfig', 'password', 'pull', 'credentials', 'not-there')
  const refs = fc.record(
    {
      adminKubeconfigSecretRef: fc.record({ name: names }),
      adminPasswordSecretRef: fc.record({ name: names }),
      metadataJSONSecretRef: fc.record({ name: names }),
    },
    { requiredKeys: [] },
  )
  const there = fc.dictionary(names, fc.boolean())
  await fc.assert(
    fc.asyncProperty(refs, there, async (metadata, secrets) => {
      const { adminKubeconfigSecretRef, adminPasswordSecretRef } = metadata
      const named = [adminKubeconfigSecretRef, adminPasswordSecretRef].flatMap((reference) => reference?.name ?? [])
      const got = await granted(cluster(metadata), secrets)
      expect(new Set(got)).toEqual(new Set(named.filter((name) => secrets[name] !== true)))
    }),
  )
})
