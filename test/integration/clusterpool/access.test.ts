/** Which users are let into clusters, and what pools read for them: what the Roles grant for it, a real API server is asked for here. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { COPIED_LABEL, POOL_LABELS, PROVIDER_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace, Role, RoleBinding, Secret } from '#apis/kubernetes.ts'
import { GRANT_NAME } from '#controllers/clusterclaim/grants.ts'
import { ADMIN_BINDING } from '#controllers/clusterpool/decide/admin-bindings.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { systemClock } from '#operator/index.ts'
import { hurriedClock } from '../clusterdeployment/world.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

/** What a pool is made of, and what gives rights. */
const GROUPS = [
  ['hive.openshift.io', ['clusterpools', 'clusterdeployments', 'clusterclaims', 'clusterdeploymentcustomizations']],
  ['', ['secrets', 'configmaps', 'pods', 'serviceaccounts']],
  ['rbac.authorization.k8s.io', ['roles', 'rolebindings']],
] as const

/** Of Secrets that pools may copy. */
const COPIED = { [COPIED_LABEL]: 'true' }

const ANN = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' } as const

test('who may administer a pool may administer its clusters, as long as that lasts', async () => {
  await using the = await poolWorld()
  await the.start()
  const admins = { metadata: { name: 'admins', namespace: the.namespace }, subjects: [ANN] }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'hive-cluster-pool-admin' }
  await the.api.create(RoleBinding, { ...admins, roleRef })
  await the.pool('pool')
  const namespace = await eventually(async () => {
    const [cluster] = await the.clusters('pool')
    expect((await the.api.get(RoleBinding, ADMIN_BINDING, cluster?.metadata.namespace))?.subjects).toEqual([ANN])
    return cluster?.metadata.namespace
  })
  await the.api.delete(RoleBinding, 'admins', the.namespace)
  await eventually(async () => expect(await the.api.get(RoleBinding, ADMIN_BINDING, namespace)).toBeUndefined())
})

test('attack: the admin of a pool reads or writes pools, clusters and Secrets of another one, hands its rights on, or keeps them when it is its admin no more', async () => {
  await using the = await poolWorld()
  await using others = await poolWorld()
  await the.start()
  await others.start()
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'hive-cluster-pool-admin' }
  await the.api.create(RoleBinding, {
    metadata: { name: 'admins', namespace: the.namespace },
    subjects: [ANN],
    roleRef,
  })
  const clusterOf = async (world: PoolWorld) => {
    await world.pool('pool')
    return eventually(async () => {
      const [cluster] = await world.clusters('pool')
      if (cluster?.metadata.namespace === undefined) throw new Error('no cluster yet')
      return cluster.metadata.namespace
    })
  }
  const [own, foreign] = [await clusterOf(the), await clusterOf(others)]
  /** What the API server lets her do, of some verbs on what a pool is made of. */
  const may = async (namespace: string, verbs: readonly string[]): Promise<readonly string[]> => {
    const asked = GROUPS.flatMap(([group, resources]) =>
      resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb, namespace }))),
    )
    const answers = await Promise.all(
      asked.map((resourceAttributes) =>
        the.plane.rest<{ status: { allowed: boolean } }>('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
          spec: { user: ANN.name, groups: ['system:authenticated'], resourceAttributes },
        }),
      ),
    )
    return asked.filter((_, at) => answers[at]?.status.allowed).map(({ verb, resource }) => `${verb} ${resource}`)
  }
  await eventually(async () => expect(await may(own, ['list'])).toContain('list secrets'))
  expect(await may(the.namespace, ['list'])).toContain('list clusterpools')
  const every = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']
  for (const namespace of [others.namespace, foreign, 'kube-system']) expect(await may(namespace, every)).toEqual([])
  for (const namespace of [the.namespace, own])
    expect((await may(namespace, every)).filter((what) => /role|serviceaccount/.test(what))).toEqual([])
  const ofSecrets = async (namespace: string) =>
    (await may(namespace, every)).filter((what) => what.endsWith(' secrets'))
  // Beside its pool are also those of Muster, or of its other pools: it makes those of its own.
  expect(await ofSecrets(the.namespace)).toEqual(['create secrets'])
  expect(await ofSecrets(own)).toEqual(['get secrets', 'list secrets', 'watch secrets'])

  await the.api.delete(RoleBinding, 'admins', the.namespace)
  await eventually(async () => expect(await may(own, every)).toEqual([]))
}, 120_000)

// POOL-39
test('attack: the admin of a pool has a Secret copied beside its clusters that is not meant for them, or one that Kubernetes fills with a token', async () => {
  await using the = await poolWorld()
  const { namespace, plane } = the
  const kubectl = (...args: readonly string[]) => plane.kubectl(...args, `--namespace=${namespace}`)
  await kubectl('create', 'rolebinding', 'admins', '--clusterrole=hive-cluster-pool-admin', '--user=ann')
  const data = { '.dockerconfigjson': JSON.stringify({ auths: {} }) }
  await the.api.create(Secret, { metadata: { name: 'of-muster', namespace }, stringData: data })
  const token = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/service-account-token',
    metadata: {
      name: 'token',
      namespace,
      labels: COPIED,
      annotations: { 'kubernetes.io/service-account.name': 'hyperfleet-clusterpool' },
    },
    stringData: data,
  }
  const file = join(await temporaryFolder('attack'), 'secret.json')
  await writeFile(file, JSON.stringify(token))
  // A right of hers comes into force a moment after its binding.
  await eventually(() => kubectl('create', `--filename=${file}`, '--as=ann'))
  const label = kubectl('label', 'secret', 'of-muster', `${COPIED_LABEL}=true`, '--as=ann')
  await expect(label).rejects.toThrow('forbidden')

  await the.start({ clock: hurriedClock() })
  for (const name of ['of-muster', 'token']) {
    const credentialsSecretRef = { name }
    await the.pool(name, { platform: { aws: { region: 'us-east-1', credentialsSecretRef } } })
    await eventually(async () => {
      const { conditions } = (await the.get.pool(name)).status ?? {}
      const missing = conditions?.find(({ type }) => type === 'MissingDependencies')
      const [cluster] = await the.clusters(name)
      expect([missing?.status === 'True', cluster]).not.toEqual([false, undefined])
    })
    const [cluster] = await the.clusters(name)
    expect(await the.api.get(Secret, name, cluster?.metadata.namespace ?? 'none')).toBeUndefined()
  }
  const { conditions } = (await the.get.pool('of-muster')).status ?? {}
  const message = `credentials secret: of-muster, its label ${COPIED_LABEL}=true`
  expect(conditions?.find(({ type }) => type === 'MissingDependencies')).toMatchObject({ status: 'True', message })

  // Its owner may.
  await kubectl('label', 'secret', 'of-muster', `${COPIED_LABEL}=true`)
  await eventually(async () => {
    const [cluster] = await the.clusters('of-muster')
    expect(await the.api.get(Secret, 'of-muster', cluster?.metadata.namespace ?? 'none')).toBeDefined()
  })
})

// POOL-37
test('admins of a pool that an earlier release let in have the role of this one beside its clusters', async () => {
  await using the = await poolWorld()
  const manager = await the.start()
  await the.plane.kubectl(
    'create',
    'rolebinding',
    'admins',
    `--namespace=${the.namespace}`,
    '--clusterrole=hive-cluster-pool-admin',
    '--user=ann',
  )
  await the.pool('pool')
  const roleIs = (name: string) =>
    eventually(async () => {
      const [cluster] = await the.clusters('pool')
      const namespace = cluster?.metadata.namespace ?? 'none'
      expect((await the.api.get(RoleBinding, ADMIN_BINDING, namespace))?.roleRef.name).toBe(name)
      return namespace
    })
  const namespace = await roleIs('hive-cluster-pool-cluster-admin')
  await manager.stop()
  const former = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'hive-cluster-pool-admin' }
  await the.api.delete(RoleBinding, ADMIN_BINDING, namespace)
  await the.api.create(RoleBinding, { metadata: { name: ADMIN_BINDING, namespace }, subjects: [ANN], roleRef: former })
  await the.start()
  await roleIs('hive-cluster-pool-cluster-admin')
})

test('POOL-52: who may administer a restored pool may administer the clusters that came back with it', async () => {
  await using the = await poolWorld()
  await the.start()
  // From a backup: the labels of its namespace are of the pool as it was.
  const name = `${the.namespace}-back`
  const labels = {
    [POOL_LABELS.uid]: '00000000-0000-4000-8000-000000000000',
    [POOL_LABELS.name]: 'pool',
    [POOL_LABELS.namespace]: the.namespace,
  }
  await the.api.create(Namespace, { metadata: { name, labels } })
  await the.api.create(ClusterDeployment, {
    metadata: { name, namespace: name },
    spec: {
      clusterName: name,
      baseDomain: 'example.com',
      platform: { aws: { region: 'us-east-1' } },
      clusterPoolRef: { namespace: the.namespace, poolName: 'pool' },
    },
  })
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'hive-cluster-pool-admin' }
  await the.api.create(RoleBinding, {
    metadata: { name: 'admins', namespace: the.namespace },
    subjects: [ANN],
    roleRef,
  })
  await the.pool('pool')
  await eventually(async () => expect((await the.api.get(RoleBinding, ADMIN_BINDING, name))?.subjects).toEqual([ANN]))
})

test('CLAIM-6: the subjects of a claim are let in, and out again before its cluster goes', async () => {
  await using the = await poolWorld()
  await the.start()
  await the.pool('pool', { runningCount: 1 })
  await the.claim('mine', 'pool', { subjects: [ANN] })
  const namespace = await eventually(async () => {
    const { spec } = await the.get.claim('mine')
    expect((await the.api.get(RoleBinding, GRANT_NAME, spec.namespace))?.subjects).toEqual([ANN])
    expect(await the.api.get(Role, GRANT_NAME, spec.namespace)).toBeDefined()
    return spec.namespace
  })
  the.installer.slow.add('*')
  await the.api.delete(ClusterClaim, 'mine', the.namespace)
  await eventually(async () => {
    expect(await the.api.get(RoleBinding, GRANT_NAME, namespace)).toBeUndefined()
    expect(await the.api.get(Role, GRANT_NAME, namespace)).toBeUndefined()
  })
  the.installer.slow.clear()
  the.installer.wake()
  await eventually(async () => expect(await the.api.get(ClusterClaim, 'mine', the.namespace)).toBeUndefined())
})

test('a claim whose subjects the API server does not let in says so and is not Ready, until it does', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  let mayGrant = false
  proxy.decide(({ method, path }) =>
    !mayGrant && method === 'PATCH' && path.includes(`/roles/${GRANT_NAME}?`) ? { status: 403 } : 'pass',
  )
  await the.start({ server: proxy.server })
  await the.pool('pool', { runningCount: 1 })
  await the.claim('mine', 'pool', { subjects: [ANN] })
  const conditionIs = (type: string, expected: object) =>
    eventually(async () => {
      const { status } = await the.get.claim('mine')
      expect(status?.conditions?.find((condition) => condition.type === type)).toMatchObject(expected)
    })
  const message = expect.stringMatching(/request-proxy answers 403; let the manager’s ServiceAccount write Roles/)
  await conditionIs('Stalled', { status: 'True', reason: 'SubjectsNotGranted', message })
  await conditionIs('Ready', { status: 'False', reason: 'SubjectsNotGranted', message })
  await conditionIs('ClusterRunning', { status: 'True' })
  mayGrant = true
  await conditionIs('Ready', { status: 'True', reason: 'Running' })
  const { spec } = await the.get.claim('mine')
  expect((await the.api.get(RoleBinding, GRANT_NAME, spec.namespace))?.subjects).toEqual([ANN])
})

test('CLAIM-13: a claim whose cluster is of a provider that is not there is not Running, until the cluster has a kubeconfig', async () => {
  await using the = await poolWorld()
  await the.start()
  await the.pool('pool', { runningCount: 1, labels: { [PROVIDER_LABEL]: 'nosuch' } })
  await the.claim('mine', 'pool')
  const conditionIs = (type: string, expected: object) =>
    eventually(async () => {
      const { status } = await the.get.claim('mine')
      expect(status?.conditions?.find((condition) => condition.type === type)).toMatchObject(expected)
    })
  const message = expect.stringContaining('the provider nosuch, which its label names, has written none')
  await conditionIs('Ready', { status: 'False', reason: 'NoKubeconfig', message })
  await conditionIs('ClusterRunning', { status: 'False', reason: 'NoKubeconfig', message })
  const { namespace = '' } = (await the.get.claim('mine')).spec
  const body = { spec: { clusterMetadata: { adminKubeconfigSecretRef: { name: 'admin' } } } }
  await the.api.patch(ClusterDeployment, { name: namespace, namespace, type: 'merge', body })
  await conditionIs('Ready', { status: 'True', reason: 'Running' })
  await conditionIs('ClusterRunning', { status: 'True', reason: 'Running' })
})

test('a claim whose lifetime is over goes by itself', async () => {
  await using the = await poolWorld()
  await the.pool('pool', { runningCount: 1 })
  await the.claim('short', 'pool', { lifetime: '10s' })
  await the.start({ clock: hurriedClock() })
  await eventually(async () => expect(await the.api.get(ClusterClaim, 'short', the.namespace)).toBeUndefined())
})

test('the pull secret is copied to the cluster, and the install-config is made from the template', async () => {
  await using the = await poolWorld()
  await the.start()
  const { namespace } = the
  const auths = JSON.stringify({ auths: {} })
  const template = 'apiVersion: v1\nmetadata:\n  name: template\nfips: true\n'
  await the.api.create(Secret, {
    metadata: { name: 'pull', namespace, labels: COPIED },
    stringData: { '.dockerconfigjson': auths },
  })
  await the.api.create(Secret, {
    metadata: { name: 'template', namespace, labels: COPIED },
    stringData: { 'install-config.yaml': template },
  })
  await the.pool('pool', {
    pullSecretRef: { name: 'pull' },
    installConfigSecretTemplateRef: { name: 'template' },
  })
  await eventually(async () => {
    const [cluster] = await the.clusters('pool')
    const at = cluster?.metadata.namespace
    const read = async (name: string | undefined, key: string) =>
      Buffer.from((await the.api.get(Secret, name ?? '', at))?.data?.[key] ?? '', 'base64').toString()
    expect(await read(cluster?.spec.pullSecretRef?.name, '.dockerconfigjson')).toBe(auths)
    expect(await read(cluster?.spec.provisioning?.installConfigSecretRef?.name, 'install-config.yaml')).toContain(
      'fips',
    )
  })
})

test.each([
  ['', 0],
  [', and though the clock was set back since', -3_600_000],
])(
  'POOL-51: a cluster is made of what its pool refers to as that is now, however lately it was read%s',
  async (_, by) => {
    await using the = await poolWorld()
    const { namespace } = the
    const pull = (auths: object) => ({ '.dockerconfigjson': JSON.stringify({ auths }) })
    await the.api.create(Secret, {
      metadata: { name: 'pull', namespace, labels: COPIED },
      stringData: pull({ former: {} }),
    })
    let setBy = 0
    await the.start({ clock: { ...systemClock, now: () => new Date(Date.now() + setBy) } })
    await the.pool('pool', { pullSecretRef: { name: 'pull' } })
    await eventually(async () => expect((await the.get.pool('pool')).status).toMatchObject({ standby: 1 }))
    const former = new Set((await the.clusters('pool')).map(({ metadata }) => metadata.name))
    setBy = by

    await the.api.patch(Secret, { name: 'pull', namespace, type: 'merge', body: { stringData: pull({ present: {} }) } })
    await the.claim('mine', 'pool')
    const made = await eventually(async () => {
      const found = (await the.clusters('pool')).find(({ metadata }) => !former.has(metadata.name))
      if (found === undefined) throw new Error('no cluster was made for the claim')
      return found
    })
    const copied = await the.api.get(Secret, made.spec.pullSecretRef?.name ?? '', made.metadata.namespace)
    expect(Buffer.from(copied?.data?.['.dockerconfigjson'] ?? '', 'base64').toString()).toContain('present')
  },
)

test('CLAIM-6, CLAIM-11: attack: the subject of a claim reads other Secrets beside its cluster’s admin kubeconfig, lists or writes them; that one goes with the claim', async () => {
  await using the = await poolWorld()
  await the.start({ clock: hurriedClock() })
  await the.pool('pool', { runningCount: 1 })
  const cluster = await eventually(async () => {
    const [found] = await the.clusters('pool')
    if (found?.status?.powerState !== 'Running') throw new Error('no cluster runs yet')
    return found
  })
  const { name, namespace: at = '' } = cluster.metadata
  const admin = `${name}-admin-kubeconfig`
  const stringData = { kubeconfig: 'its own' }
  for (const made of [admin, 'certificates'])
    await the.api.create(Secret, { metadata: { name: made, namespace: at }, stringData })
  // As the controller of ClusterDeployments does.
  const clusterMetadata = { adminKubeconfigSecretRef: { name: admin } }
  const where = { name, namespace: at, type: 'merge' } as const
  await the.api.patch(ClusterDeployment, { ...where, body: { spec: { clusterMetadata } } })
  const apiURL = 'https://one.example:6443'
  await the.api.patch(ClusterDeployment, { ...where, subresource: 'status', body: { status: { apiURL } } })
  await the.claim('mine', 'pool', { subjects: [ANN] })
  await eventually(async () => expect((await the.get.claim('mine')).status?.apiURL).toBe(apiURL))
  expect(await the.plane.kubectl('get', 'clusterclaim', 'mine', '-n', the.namespace)).toContain(apiURL)

  const can = async (...asked: readonly string[]): Promise<string> =>
    (await the.plane.kubectl('auth', 'can-i', ...asked, '-n', at, '--as=ann').catch(() => 'no')).trim()
  await eventually(async () => expect(await can('get', `secret/${admin}`)).toBe('yes'))
  const installConfig = cluster.spec.provisioning?.installConfigSecretRef?.name
  for (const other of ['certificates', installConfig]) expect(await can('get', `secret/${other}`)).toBe('no')
  for (const verb of ['list', 'watch', 'create']) expect(await can(verb, 'secrets')).toBe('no')
  for (const verb of ['patch', 'update', 'delete']) expect(await can(verb, `secret/${admin}`)).toBe('no')
  expect(await the.plane.kubectl('get', 'secret', admin, '-n', at, '--as=ann')).toContain(admin)

  // Of ClusterDeployments its own alone, which it may wait for.
  const own = `clusterdeployments.hive.openshift.io/${name}`
  for (const verb of ['get', 'patch']) expect(await can(verb, own)).toBe('yes')
  for (const verb of ['update', 'delete']) expect(await can(verb, own)).toBe('no')
  for (const verb of ['get', 'patch']) expect(await can(verb, 'clusterdeployments.hive.openshift.io/other')).toBe('no')
  for (const verb of ['list', 'create']) expect(await can(verb, 'clusterdeployments.hive.openshift.io')).toBe('no')
  const running = ['--for=jsonpath={.status.powerState}=Running', '--timeout=10s']
  expect(await the.plane.kubectl('wait', own, '-n', at, '--as=ann', ...running)).toContain('condition met')

  await the.api.delete(ClusterClaim, 'mine', the.namespace)
  await eventually(async () => {
    expect(await the.api.get(Secret, admin, at)).toBeUndefined()
    expect(await the.api.get(Namespace, at)).toBeUndefined()
  })
})

test('CLAIM-9: attack: the author of a pool has a Secret copied beside its cluster, and the cluster name it for its claim', async () => {
  await using the = await poolWorld()
  const { namespace } = the
  const metadata = { name: 'victim', namespace, labels: COPIED }
  await the.api.create(Secret, { metadata, stringData: { kubeconfig: 'of others' } })
  await the.start()
  // Nothing in the cluster says any more where the Secret is from.
  await the.customize(['hidden'], {
    clusterDeploymentSpecPatches: [{ op: 'remove', path: '/platform/aws/credentialsSecretRef' }],
  })
  await the.pool('pool', {
    runningCount: 1,
    platform: { aws: { region: 'us-east-1', credentialsSecretRef: { name: 'victim' } } },
    inventory: ['hidden'],
  })
  const cluster = await eventually(async () => {
    const [found] = await the.clusters('pool')
    expect(await the.api.get(Secret, 'victim', found?.metadata.namespace)).toBeDefined()
    if (found === undefined) throw new Error('no cluster yet')
    return found
  })
  const at = cluster.metadata.namespace ?? ''
  await the.api.create(Secret, { metadata: { name: 'admin', namespace: at }, stringData: { kubeconfig: 'its own' } })
  const clusterMetadata = {
    adminKubeconfigSecretRef: { name: 'admin' },
    adminPasswordSecretRef: { name: 'victim' },
    metadataJSONSecretRef: { name: cluster.spec.provisioning?.installConfigSecretRef?.name },
  }
  const body = { spec: { clusterMetadata } }
  await the.api.patch(ClusterDeployment, { name: cluster.metadata.name, namespace: at, type: 'merge', body })
  await the.claim('mine', 'pool', { subjects: [ANN] })
  await eventually(async () => {
    const role = await the.api.get(Role, GRANT_NAME, at)
    const ofSecrets = role?.rules?.filter(({ resources }) => resources?.includes('secrets')) ?? []
    expect(ofSecrets.flatMap(({ resourceNames = [] }) => resourceNames)).toEqual(['admin'])
  })
})
