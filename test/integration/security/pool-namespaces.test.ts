/**
 * Attacks with what says that a namespace, or a cluster, is of a pool: on a real API server with the default install, and pools at work as their
 * delivered account. POOL-103 to POOL-105, POOL-108, CLAIM-18; docs/security.md.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool, type ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { COPIED_LABEL, LEASE_FINALIZER, POOL_LABELS, RESTORE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace, Secret } from '#apis/kubernetes.ts'
import { NAMESPACE } from '#cmd/security/model.ts'
import { clusterClaim } from '#controllers/clusterclaim/index.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { silent } from '#operator/model/log.ts'
import { runOperator } from '#test/harness/index.ts'
import { type PoolsAtWork, poolsAtWork } from '../providers/pools.ts'
import { PATIENCE } from '../providers/world.ts'

/** An account that may make and label namespaces, and write everything of pools in one of them: much, and nothing of other pools. */
const MALLORY = 'system:serviceaccount:default:mallory'
const HERS = { 'made-by': 'mallory' }

let pools: PoolsAtWork

beforeAll(async () => {
  pools = await poolsAtWork([])
  const { kubectl } = pools.cluster
  await kubectl('create', 'serviceaccount', 'mallory', '--namespace=default')
  const verbs = '--verb=get,list,watch,create,update,patch,delete'
  await kubectl('create', 'clusterrole', 'namespaces', verbs, '--resource=namespaces,namespaces/status')
  await kubectl('create', 'clusterrolebinding', 'namespaces', '--clusterrole=namespaces', `--user=${MALLORY}`)
  await kubectl('create', 'namespace', 'mallory')
  await kubectl('create', 'role', 'all', '--namespace=mallory', '--verb=*', '--resource=*.hive.openshift.io')
  const binding = ['--namespace=mallory', '--role=all', `--user=${MALLORY}`]
  await kubectl('create', 'rolebinding', 'all', ...binding)
}, 240_000)

afterAll(() => pools?.[Symbol.asyncDispose]())

const makePool = (name: string, spec: Partial<ClusterPoolSpec>): Promise<ClusterPool> =>
  pools.api.create(ClusterPool, {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      platform: { none: {} },
      baseDomain: 'example.com',
      imageSetRef: { name: 'kubernetes-v1.36' },
      size: 1,
      ...spec,
    },
  })

const createAs = async (user: string, object: object, ...options: readonly string[]): Promise<string> => {
  const file = join(await temporaryFolder('attack'), 'object.json')
  await writeFile(file, JSON.stringify(object))
  return pools.cluster.kubectl('create', `--filename=${file}`, `--as=${user}`, ...options)
}

const asMallory = (object: object, ...options: readonly string[]): Promise<string> =>
  createAs(MALLORY, object, ...options)

const namespaceWith = (name: string, labels: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { ...HERS, ...labels } },
})

/** As a manager that has taken a lease, and made nothing yet: the name of its cluster can be read from the customization. */
const lease = async (customization: string, pool: string, cluster: string): Promise<void> => {
  const status = {
    clusterPoolRef: { namespace: NAMESPACE, name: pool },
    clusterDeploymentRef: { namespace: cluster, name: cluster },
    conditions: [
      {
        type: 'Available',
        status: 'False',
        reason: 'Leased',
        message: 'leased',
        lastTransitionTime: new Date().toISOString(),
      },
    ],
  } as const
  const where = { name: customization, namespace: NAMESPACE, type: 'merge', subresource: 'status' } as const
  await pools.api.patch(ClusterDeploymentCustomization, { ...where, body: { status } })
}

/** Makes a namespace, in which she may do what `edit` lets her do. */
const makeHers = async (name: string): Promise<void> => {
  await asMallory(namespaceWith(name, {}))
  const binding = [`--namespace=${name}`, '--clusterrole=edit', `--user=${MALLORY}`]
  await pools.cluster.kubectl('create', 'rolebinding', 'edits', ...binding)
}

const clusterIn = (namespace: string, name: string, more: object = {}) => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterDeployment',
  metadata: { name, namespace },
  spec: { clusterName: name, baseDomain: 'example.com', platform: { none: {} }, ...more },
})

// POOL-103
test('attack: the maker of namespaces makes that of a cluster beforehand, with the label of its pool and as its field manager; no Secret of the pool comes there', async () => {
  const { api, manager } = pools
  await manager.stop()
  const stringData = { '.dockerconfigjson': JSON.stringify({ auths: {} }) }
  const copied = { [COPIED_LABEL]: 'true' }
  await api.create(Secret, { metadata: { name: 'pull', namespace: NAMESPACE, labels: copied }, stringData })
  await api.create(ClusterDeploymentCustomization, { metadata: { name: 'a', namespace: NAMESPACE }, spec: {} })
  const pool = await makePool('beforehand', {
    pullSecretRef: { name: 'pull' },
    inventory: { ClusterDeploymentCustomizations: [{ name: 'a' }], attempts: 5 },
  })
  const name = 'beforehand-1'
  await lease('a', 'beforehand', name)
  const labels = { [POOL_LABELS.uid]: pool.metadata.uid }
  const attack = await asMallory(namespaceWith(name, labels), '--field-manager=muster').catch(String)

  await manager.start()
  await vi.waitFor(async () => expect(await api.get(Secret, 'pull', name)).toBeDefined(), PATIENCE)
  expect((await api.get(Namespace, name))?.metadata.labels).not.toMatchObject(HERS)
  expect(attack).toContain(`only pools write the label ${POOL_LABELS.uid} of a namespace`)
})

test('attack: or labels one that is there, by any way that Kubernetes has, or takes the label from that of a cluster', async () => {
  const { api, cluster } = pools
  const { metadata } = await makePool('labelled', { size: 1 })
  const place = await vi.waitFor(async () => {
    const [found] = await Array.fromAsync(api.list(Namespace, { labelSelector: `${POOL_LABELS.uid}=${metadata.uid}` }))
    if (found === undefined) throw new Error('no cluster yet')
    return found.metadata.name
  }, PATIENCE)
  const refused = /only pools write the label/
  await asMallory(namespaceWith('mine', {}))
  for (const [key, value] of Object.entries({
    [POOL_LABELS.uid]: metadata.uid,
    [POOL_LABELS.name]: 'labelled',
    [POOL_LABELS.namespace]: NAMESPACE,
  }))
    for (const way of [[], ['--subresource=status']]) {
      const patch = JSON.stringify({ metadata: { labels: { [key]: value } } })
      const label = cluster.kubectl('patch', 'namespace', 'mine', `--patch=${patch}`, ...way, `--as=${MALLORY}`)
      await expect(label).rejects.toThrow(refused)
    }
  const unlabel = cluster.kubectl('label', 'namespace', place, `${POOL_LABELS.uid}-`, `--as=${MALLORY}`)
  await expect(unlabel).rejects.toThrow(refused)
  // Other labels are none of the policy's business.
  await cluster.kubectl('label', 'namespace', place, 'team=blue', `--as=${MALLORY}`)
})

test('who restores a backup may, by muster-restorer in the whole cluster', async () => {
  const { kubectl } = pools.cluster
  await kubectl('create', 'clusterrolebinding', 'restores', '--clusterrole=muster-restorer', '--user=ann')
  await kubectl('create', 'clusterrolebinding', 'restores-ns', '--clusterrole=namespaces', '--user=ann')
  await kubectl('create', 'namespace', 'restored')
  const label = () => kubectl('label', 'namespace', 'restored', `${POOL_LABELS.uid}=of-a-backup`, '--as=ann')
  await vi.waitFor(label, PATIENCE)
})

// POOL-104
test('attack: a cluster in a namespace of its author names a pool; no claim gets it, it counts for nothing, and holds nothing up', async () => {
  const { api, cluster } = pools
  await makePool('counted', { size: 0 })
  await makePool('held-up', { size: 0 })
  const bait = (name: string, poolName: string) =>
    clusterIn('mallory', name, {
      installed: true,
      powerState: 'Running',
      clusterPoolRef: { namespace: NAMESPACE, poolName },
    })
  for (const [name, pool] of Object.entries({ bait: 'counted', stays: 'held-up' })) await asMallory(bait(name, pool))
  const running = JSON.stringify({ status: { powerState: 'Running' } })
  const patch = ['--type=merge', '--subresource=status', `--patch=${running}`, `--as=${MALLORY}`]
  await cluster.kubectl('patch', 'clusterdeployment', 'bait', '--namespace=mallory', ...patch)

  const spec = { clusterPoolName: 'counted' }
  await api.create(ClusterClaim, { metadata: { name: 'mine', namespace: NAMESPACE }, spec })
  const given = await vi.waitFor(async () => {
    const { namespace } = (await api.get(ClusterClaim, 'mine', NAMESPACE))?.spec ?? {}
    if (namespace === undefined) throw new Error('no cluster yet')
    return namespace
  }, PATIENCE)
  expect(given).not.toBe('mallory')
  expect((await api.get(ClusterPool, 'counted', NAMESPACE))?.status?.size ?? 0).toBe(0)

  await api.delete(ClusterPool, 'held-up', NAMESPACE)
  await vi.waitFor(async () => expect(await api.get(ClusterPool, 'held-up', NAMESPACE)).toBeUndefined(), PATIENCE)
  for (const name of ['bait', 'stays']) expect(await api.get(ClusterDeployment, name, 'mallory')).toBeDefined()
})

// POOL-105
test('attack: the maker of namespaces makes one that is called like the cluster of a lease, with a ClusterDeployment of that name in it; the lease is given back, and the pool can go', async () => {
  const { api, manager } = pools
  await manager.stop()
  await api.create(ClusterDeploymentCustomization, { metadata: { name: 'held', namespace: NAMESPACE }, spec: {} })
  const inventory = { ClusterDeploymentCustomizations: [{ name: 'held' }], attempts: 5 }
  await makePool('hung', { inventory })
  await lease('held', 'hung', 'hung-1')
  await makeHers('hung-1')
  await vi.waitFor(() => asMallory(clusterIn('hung-1', 'hung-1')), PATIENCE)
  await manager.start()
  const statusOf = async () => (await api.get(ClusterPool, 'hung', NAMESPACE))?.status
  await vi.waitFor(async () => expect((await statusOf())?.inventory).toBeDefined(), PATIENCE)
  await api.delete(ClusterPool, 'hung', NAMESPACE)
  await vi.waitFor(async () => expect(await api.get(ClusterPool, 'hung', NAMESPACE)).toBeUndefined(), PATIENCE)
  const freed = await api.get(ClusterDeploymentCustomization, 'held', NAMESPACE)
  expect(freed?.status?.clusterDeploymentRef).toBeUndefined()
  expect(await api.get(ClusterDeployment, 'hung-1', 'hung-1')).toBeDefined()
})

// POOL-108
test('attack: a cluster in a namespace of its author says that it had the customization of a pool, and goes; nothing of that customization is written for it', async () => {
  const { api, manager } = pools
  // What is left of clusters is looked for when it starts, and then each minute.
  await manager.stop()
  const finalizers = [LEASE_FINALIZER]
  const own = { name: 'kept', namespace: NAMESPACE, finalizers }
  const { metadata } = await api.create(ClusterDeploymentCustomization, { metadata: own, spec: {} })
  const clusterPoolRef = {
    namespace: NAMESPACE,
    poolName: 'none-such',
    clusterDeploymentCustomization: { name: 'kept' },
  }
  const bait = clusterIn('mallory', 'leaver', { clusterPoolRef })
  await asMallory({ ...bait, metadata: { ...bait.metadata, finalizers } })
  await api.delete(ClusterDeployment, 'leaver', 'mallory')
  await manager.start()
  await vi.waitFor(async () => expect(await api.get(ClusterDeployment, 'leaver', 'mallory')).toBeUndefined(), {
    timeout: 100_000,
    interval: 500,
  })
  const after = await api.get(ClusterDeploymentCustomization, 'kept', NAMESPACE)
  expect(after?.metadata.finalizers).toEqual(metadata.finalizers)
}, 120_000)

// CLAIM-18
test('attack: who restores pools beside Muster, and reads no Secrets, restores a claimed cluster there that names one for its users; its claim lets no one in, and can go', async () => {
  const { api, cluster } = pools
  const { kubectl } = cluster
  const here = `--namespace=${NAMESPACE}`
  await kubectl('create', 'rolebinding', 'restores', here, '--clusterrole=muster-restorer', '--user=rita')
  await kubectl('create', 'secret', 'generic', 'signing', here, '--from-literal=key=secret')
  const labels = { [RESTORE_LABEL]: 'true' }
  const hole = clusterIn(NAMESPACE, NAMESPACE, {
    clusterPoolRef: { namespace: NAMESPACE, poolName: 'none-such', claimName: 'key' },
    clusterMetadata: { clusterID: 'x', infraID: 'x', adminKubeconfigSecretRef: { name: 'signing' } },
  })
  await vi.waitFor(() => createAs('rita', { ...hole, metadata: { ...hole.metadata, labels } }), PATIENCE)
  const subject = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'rita' }
  await createAs('rita', {
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterClaim',
    metadata: { name: 'key', namespace: NAMESPACE, labels },
    spec: { clusterPoolName: 'none-such', namespace: NAMESPACE, subjects: [subject] },
  })
  const kubeconfig = await cluster.kubeconfigFor('hyperfleet-clusterpool', NAMESPACE)
  const claims = await runOperator(kubeconfig, { controllers: [clusterClaim()], namespaces: [NAMESPACE], log: silent })
  try {
    const conditions = async () => (await api.get(ClusterClaim, 'key', NAMESPACE))?.status?.conditions
    await vi.waitFor(async () => expect(await conditions()).toBeDefined(), PATIENCE)
    await expect(kubectl('get', 'secret', 'signing', here, '--as=rita')).rejects.toThrow('forbidden')
    await api.delete(ClusterClaim, 'key', NAMESPACE)
    await vi.waitFor(async () => expect(await api.get(ClusterClaim, 'key', NAMESPACE)).toBeUndefined(), PATIENCE)
    expect((await api.get(ClusterDeployment, NAMESPACE, NAMESPACE))?.metadata.annotations).toBeUndefined()
  } finally {
    await claims.stop()
  }
})
