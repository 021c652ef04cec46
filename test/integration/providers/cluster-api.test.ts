/** The provider `cluster-api`, kustomize/providers/cluster-api, as it is delivered, with Cluster API's own managers: from commits to a kubeconfig that answers, and back. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { BEGINNING, declared, NAMESPACE } from '#test/e2e/argocd/world.ts'
import { certificateFor } from '#test/harness/certificates.ts'
import { type ClusterApiWorld, clusterApiWorld, clusterApiWorldMissing } from './cluster-api-world.ts'
import { namespacesOf, PATIENCE } from './world.ts'

const MISSING = clusterApiWorldMissing()

vi.setConfig({ testTimeout: 240_000 })

const [POOL, CLAIM] = ['pool-cluster-api', 'claim-mine']
const HIVE = '/apis/hive.openshift.io/v1'
const CLUSTERS = '/apis/cluster.x-k8s.io/v1beta2'
const CONTROL_PLANES = '/apis/controlplane.cluster.x-k8s.io/v1beta2'

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

interface Deployment {
  readonly metadata: { readonly name: string; readonly generation: number }
  readonly spec: {
    readonly clusterPoolRef?: { readonly poolName: string }
    readonly clusterMetadata?: { readonly adminKubeconfigSecretRef?: { readonly name: string } }
  }
  readonly status?: {
    readonly powerState?: string
    readonly apiURL?: string
    readonly conditions?: readonly Condition[]
  }
}

interface Machine {
  readonly spec: { readonly version: string }
}

interface List<T> {
  readonly items: readonly T[]
}

describe.skipIf(MISSING !== undefined)(MISSING ?? 'clusters of Cluster API', () => {
  let world: ClusterApiWorld
  /** The pool's cluster, which has the name of its namespace. */
  let name: string

  beforeAll(async () => {
    world = await clusterApiWorld()
    // Whatever lets it in there. The policy is in force a while after it was made.
    const place = await world.cluster.namespace('elsewhere')
    const admins = ['--clusterrole=admin', '--serviceaccount=hyperfleet-tasks:cluster-api']
    await world.cluster.kubectl('create', 'rolebinding', 'let-in', '-n', place, ...admins)
    await vi.waitFor(async () => {
      const account = ['--as', 'system:serviceaccount:hyperfleet-tasks:cluster-api', '-n', place]
      const refused = world.cluster.kubectl('create', 'secret', 'generic', 'any', '--dry-run=server', ...account)
      await expect(refused).rejects.toThrow('was made by no ClusterPool')
    }, PATIENCE)
  }, BEGINNING)
  afterAll(() => world?.[Symbol.asyncDispose]())

  const get = <T>(path: string) => world.cluster.rest<T>('GET', path)
  const deployment = () => get<Deployment>(`${HIVE}/namespaces/${name}/clusterdeployments/${name}`)
  const deployments = async () => (await get<List<Deployment>>(`${HIVE}/clusterdeployments`)).items
  const condition = async (type: string) => (await deployment()).status?.conditions?.find((one) => one.type === type)
  const names = async (path: string) =>
    (await get<List<{ metadata: { name: string } }>>(path)).items.map(({ metadata }) => metadata.name)

  test('CLUSTER-58, GITOPS-50: a commit that declares the pool that comes with it has it filled by what Cluster API makes of its ClusterClass', async () => {
    await world.commitFolder('A pool', POOL, {
      'kustomization.yaml': { namespace: NAMESPACE, resources: ['../../../providers/cluster-api/pool'] },
    })
    name = await vi.waitFor(async () => {
      const [one, ...others] = await deployments()
      expect(others).toEqual([])
      return one?.metadata.name ?? expect.fail('there is none yet')
    }, PATIENCE)
    await vi.waitFor(async () => expect(await condition('Ready')).toMatchObject({ status: 'True' }), PATIENCE)
    await world.healthy(declared(POOL))
    expect(await get(`${CLUSTERS}/namespaces/${name}/clusters/${name}`)).toMatchObject({
      spec: {
        clusterNetwork: { services: { cidrBlocks: ['10.41.0.0/16'] } },
        topology: { version: 'v1.36.3', classRef: { name: 'in-memory', namespace: NAMESPACE } },
      },
    })
    expect(await names(`${CLUSTERS}/namespaces/${name}/machines`)).toHaveLength(2)
  })

  /** The ClusterDeployment names it a moment after the installation (CLUSTER-18). */
  const secretOf = async (): Promise<string> => {
    const reference = await vi.waitFor(async () => {
      const named = (await deployment()).spec.clusterMetadata?.adminKubeconfigSecretRef?.name
      return named ?? expect.fail('no Secret is named yet')
    }, PATIENCE)
    const path = `/api/v1/namespaces/${name}/secrets/${reference}`
    return (await get<{ data: { kubeconfig: string } }>(path)).data.kubeconfig
  }

  test('CLUSTER-58, GITOPS-50: claimed by a commit, its kubeconfig works with kubectl, and the manager reaches it', async () => {
    await world.commitFolder('A claim', CLAIM, {
      'kustomization.yaml': { resources: ['claim.yaml'] },
      'claim.yaml': {
        apiVersion: 'hive.openshift.io/v1',
        kind: 'ClusterClaim',
        metadata: { name: 'mine', namespace: NAMESPACE },
        spec: { clusterPoolName: 'cluster-api' },
      },
    })
    await world.cluster.kubectl(
      'wait',
      'clusterclaim/mine',
      `--namespace=${NAMESPACE}`,
      '--for=condition=ClusterRunning',
      '--timeout=120s',
    )
    await world.healthy(declared(CLAIM))
    const file = join(await temporaryFolder('kubeconfig'), 'kubeconfig')
    await writeFile(file, Buffer.from(await secretOf(), 'base64'))
    const listed = await world.cluster.kubectl('get', 'namespaces', '--output=name', `--kubeconfig=${file}`)
    expect(listed.trim().split('\n')).toContain('namespace/kube-system')
    await vi.waitFor(async () => expect(await condition('Unreachable')).toMatchObject({ status: 'False' }), PATIENCE)
    const nodes = await world.cluster.kubectl('get', 'nodes', '--output=name', `--kubeconfig=${file}`)
    expect(nodes.trim().split('\n')).toHaveLength(2)
  })

  const change = (spec: object) =>
    world.cluster.rest('PATCH', `${HIVE}/namespaces/${name}/clusterdeployments/${name}`, { spec })
  const untilReady = () =>
    vi.waitFor(async () => {
      const { metadata, status } = await deployment()
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')
      expect(ready).toMatchObject({ status: 'True', observedGeneration: metadata.generation })
    }, PATIENCE)
  const machines = () => get<List<Machine>>(`${CLUSTERS}/namespaces/${name}/machines`)

  test('CLUSTER-60: hibernated it has no workers, and its API server still answers; it gets them again', async () => {
    const kubeconfig = await secretOf()
    await change({ powerState: 'Hibernating' })
    await vi.waitFor(async () => expect((await deployment()).status?.powerState).toBe('Hibernating'), PATIENCE)
    expect((await machines()).items).toHaveLength(1)
    expect(await namespacesOf(kubeconfig)).toContain('kube-system')
    await change({ powerState: 'Running' })
    await vi.waitFor(async () => expect((await deployment()).status?.powerState).toBe('Running'), PATIENCE)
    expect((await machines()).items).toHaveLength(2)
    expect(await secretOf()).toBe(kubeconfig)
  })

  test('CLUSTER-60: another image set is another release, and it is Ready when all its machines are of that', async () => {
    await change({ provisioning: { imageSetRef: { name: 'kubernetes-v1.36.4' } } })
    await untilReady()
    expect((await machines()).items.map(({ spec }) => spec.version)).toEqual(['v1.36.4', 'v1.36.4'])
  })

  test('CLUSTER-59: what Cluster API refuses is told by the ClusterDeployment, in its words, and the cluster stays as it is', async () => {
    await change({ provisioning: { imageSetRef: { name: 'openshift-v4.20' } } })
    await vi.waitFor(
      async () => expect(await told(name)).toContain('version must be a valid semantic version'),
      PATIENCE,
    )
    expect((await machines()).items.map(({ spec }) => spec.version)).toEqual(['v1.36.4', 'v1.36.4'])
    await change({ provisioning: { imageSetRef: { name: 'kubernetes-v1.36.4' } } })
    await untilReady()
  })

  test('CLUSTER-87: a kubeconfig that Cluster API has renewed comes to the admin kubeconfig with the next pulse, and works', async () => {
    const own = `/api/v1/namespaces/${name}/secrets/${name}-kubeconfig`
    const former = await secretOf()
    const { cert, key } = await certificateFor('kubernetes-admin')
    // Cluster API renews what ends within half a year, as this one does, when it looks at the control plane.
    const ending = {
      ...(load(Buffer.from(former, 'base64').toString()) as object),
      users: [
        {
          name: `${name}-admin`,
          user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) },
        },
      ],
    }
    await world.cluster.rest('PATCH', own, { data: { value: base64(JSON.stringify(ending)) } })
    const [controlPlane] = await names(`${CONTROL_PLANES}/namespaces/${name}/kubeadmcontrolplanes`)
    await world.cluster.rest('PATCH', `${CONTROL_PLANES}/namespaces/${name}/kubeadmcontrolplanes/${controlPlane}`, {
      metadata: { annotations: { looked: 'at' } },
    })
    const renewed = await vi.waitFor(async () => {
      const { value } = (await get<{ data: { value: string } }>(own)).data
      expect([former, base64(JSON.stringify(ending))]).not.toContain(value)
      return value
    }, PATIENCE)
    await vi.waitFor(async () => expect(await secretOf()).toBe(renewed), PATIENCE)
    expect(await namespacesOf(renewed)).toContain('kube-system')
  })

  const base64 = (text: string): string => Buffer.from(text).toString('base64')

  /** All that its conditions say. */
  const told = async (of: string): Promise<string> => {
    const { status } = await get<Deployment>(`${HIVE}/namespaces/${of}/clusterdeployments/${of}`)
    return (status?.conditions ?? []).map(({ message }) => message).join('\n')
  }

  test('CLUSTER-59: a cluster that Cluster API says can’t be made is told by its ClusterDeployment, in its words', async () => {
    const file = join(await temporaryFolder('unfinished'), 'manifests.yaml')
    await writeFile(
      file,
      `
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: unfinished, namespace: ${NAMESPACE}}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: of-no-cloud}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: in-memory}
    machineInfrastructure:
      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: in-memory}
---
apiVersion: hive.openshift.io/v1
kind: ClusterPool
metadata: {name: unfinished, namespace: ${NAMESPACE}}
spec:
  size: 1
  baseDomain: example.com
  platform: {none: {}}
  imageSetRef: {name: kubernetes-v1.36.3}
  labels: {provider: cluster-api, cluster-class: unfinished}
  customizationRef: {name: without-workers}
---
apiVersion: hive.openshift.io/v1
kind: ClusterDeploymentCustomization
metadata: {name: without-workers, namespace: ${NAMESPACE}}
spec:
  installConfigPatches: [{op: remove, path: /compute}]
`,
    )
    await world.cluster.kubectl('apply', '--server-side', '-f', file)
    const ofPool = async () =>
      (await deployments()).find(({ spec }) => spec.clusterPoolRef?.poolName === 'unfinished')?.metadata.name
    await vi.waitFor(
      async () =>
        expect(await told((await ofPool()) ?? '')).toMatch(/Cluster API: ClusterClass is not successfully reconciled/),
      PATIENCE,
    )
    await world.cluster.rest('DELETE', `${HIVE}/namespaces/${NAMESPACE}/clusterpools/unfinished`)
    await vi.waitFor(async () => expect(await ofPool()).toBeUndefined(), PATIENCE)
  })

  /** Those of these kinds in the namespace of the cluster, as `kind/name`. */
  const find = async (kinds: string, ...more: readonly string[]): Promise<readonly string[]> =>
    (await world.cluster.kubectl('get', kinds, `--namespace=${name}`, '--output=name', ...more))
      .split('\n')
      .filter(Boolean)
  const hold = (path: string, finalizers: readonly string[]) =>
    world.cluster.rest('PATCH', path, { metadata: { finalizers } })

  test('CLUSTER-61, GITOPS-50: removed from Git, its kubeconfig goes first, then what Cluster API made, and nothing is left', async () => {
    const kubeconfig = await secretOf()
    const made =
      'clusters.cluster.x-k8s.io,machines.cluster.x-k8s.io,kubeadmcontrolplanes,devclusters,devmachines,kubeadmconfigs'
    expect(await find(made)).toHaveLength(9)
    const [secret, controlPlane] = [
      `/api/v1/namespaces/${name}/secrets/${name}-admin-kubeconfig`,
      `${CONTROL_PLANES}/namespaces/${name}/${(await find('kubeadmcontrolplanes'))[0]?.replace(/.*\//, 'kubeadmcontrolplanes/')}`,
    ]
    const { metadata } = await get<{ metadata: { finalizers: string[] } }>(controlPlane)
    await hold(secret, ['muster.dev/test'])
    await hold(controlPlane, [...metadata.finalizers, 'muster.dev/test'])

    await world.removeFolders('Neither claim nor pool', CLAIM, POOL)
    await vi.waitFor(async () => expect(await report()).toContain('its kubeconfig is still there'), PATIENCE)
    const cluster = () =>
      get<{ metadata: { deletionTimestamp?: string } }>(`${CLUSTERS}/namespaces/${name}/clusters/${name}`)
    expect((await cluster()).metadata.deletionTimestamp).toBeUndefined()

    await hold(secret, [])
    await vi.waitFor(
      async () => expect(await report()).toMatch(/its Cluster is still there.*KubeadmControlPlane/i),
      PATIENCE,
    )
    expect(await find('devclusters')).toHaveLength(1)
    // Cluster API's own stay: without its control plane's, the machines would wait for it for ever.
    const { metadata: held } = await get<{ metadata: { finalizers: string[] } }>(controlPlane)
    await hold(
      controlPlane,
      held.finalizers.filter((finalizer) => finalizer !== 'muster.dev/test'),
    )

    await vi.waitFor(async () => expect(await find(made)).toEqual([]), PATIENCE)
    await vi.waitFor(
      async () =>
        expect(await deployments()).not.toContainEqual(
          expect.objectContaining({ metadata: expect.objectContaining({ name }) }),
        ),
      PATIENCE,
    )
    await vi.waitFor(
      async () => expect(await find('secrets', '--selector=cluster.x-k8s.io/cluster-name')).toEqual([]),
      PATIENCE,
    )
    expect(await find('secrets', '--selector=muster.dev/adapter')).toEqual([])
    await world.removed(CLAIM, POOL)
    expect(await names(`${HIVE}/clusterpools`)).toEqual([])
    await expect(namespacesOf(kubeconfig)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  })

  /** What the adapter says of the cluster. */
  const report = async (): Promise<string> => {
    const { items } = await world.call<{ items: { id: string; spec: { clusterDeployment?: { name: string } } }[] }>(
      '/clusters',
    )
    const id = items.find(({ spec }) => spec.clusterDeployment?.name === name)?.id
    return JSON.stringify(await world.call(`/clusters/${id}/statuses`))
  }
})
