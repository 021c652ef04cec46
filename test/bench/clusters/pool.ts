/** A pool of real clusters of a provider: filled, claimed from, put to sleep, removed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { adminKubeconfigName } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { Secret } from '#apis/kubernetes.ts'
import { KUBERNETES_VERSION } from '#hack/controlplane/binaries.ts'
import { apiVersionOf, pathOf } from '#operator/model/resource.ts'
import { namespacesOf } from '#test/integration/providers/world.ts'
import { type ApiServer, StatusError } from '../load/client.ts'

const NAMESPACE = 'hyperfleet-system'
const NAME = 'bench'
const POOL = pathOf(ClusterPool, { namespace: NAMESPACE, name: NAME })
/** The one of `npm run up`. */
const LAB = pathOf(ClusterPool, { namespace: NAMESPACE, name: 'lab' })

const POLL_MS = 10
const DEADLINE_MS = 300_000

/** @returns what `look` found @throws when it finds nothing within five minutes */
const until = async <T>(what: string, look: () => Promise<T | undefined>, everyMs = 100): Promise<T> => {
  const deadline = performance.now() + DEADLINE_MS
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${DEADLINE_MS / 1000} s`)
    await sleep(everyMs)
  }
}

const read = async <T>(server: ApiServer, path: string): Promise<T | undefined> => {
  try {
    return (await server.request('GET', path)) as T
  } catch (error) {
    if (error instanceof StatusError && error.status === 404) return undefined
    throw error
  }
}

/** The clusters of `npm run up` make room for those of the bench. */
export const removeLab = async (server: ApiServer): Promise<void> => {
  const { items } = (await server.request('GET', pathOf(ClusterClaim, { namespace: NAMESPACE }))) as {
    items: ClusterClaim[]
  }
  for (const { metadata } of items.filter(({ spec }) => spec.clusterPoolName === 'lab'))
    await server.request('DELETE', pathOf(ClusterClaim, { namespace: NAMESPACE, name: metadata.name }))
  await server.request('DELETE', LAB)
  await until('the end of the pool lab', async () => ((await read(server, LAB)) === undefined ? true : undefined))
}

interface Provider {
  readonly label: string
  /** Which release: a name. */
  readonly imageSet: string
}

const LOCAL: Provider = { label: 'local', imageSet: 'kubernetes-v1.36' }
/** Of the node's own release, whose images it has. */
export const HOSTED: Provider = { label: 'hosted', imageSet: `kubernetes-${KUBERNETES_VERSION}` }

/** Milliseconds from the creation of a pool of so many clusters until all of them run. */
export const fill = async (server: ApiServer, size: number, provider = LOCAL): Promise<number> => {
  const began = performance.now()
  await server.request('POST', pathOf(ClusterPool, { namespace: NAMESPACE }), {
    apiVersion: apiVersionOf(ClusterPool),
    kind: ClusterPool.kind,
    metadata: { name: NAME },
    spec: {
      size,
      runningCount: size,
      baseDomain: 'example.com',
      platform: { none: {} },
      imageSetRef: { name: provider.imageSet },
      labels: { provider: provider.label },
    },
  })
  await untilReady(server, size)
  return performance.now() - began
}

/** Milliseconds until the pool has so many running clusters, and no other one. */
export const resize = async (server: ApiServer, size: number): Promise<number> => {
  const began = performance.now()
  await server.request('PATCH', POOL, { spec: { size, runningCount: size } })
  await untilReady(server, size)
  return performance.now() - began
}

/** All of them run, and none is on its way out. */
export const untilReady = async (server: ApiServer, size: number): Promise<void> => {
  await until(`${size} running clusters`, async () => {
    const { status } = (await server.request('GET', POOL)) as ClusterPool
    return status?.ready === size && status.size === size ? true : undefined
  })
}

/** Resolves when each cluster of the pool says that it sleeps. */
export const hibernate = async (server: ApiServer): Promise<void> => {
  await server.request('PATCH', POOL, { spec: { runningCount: 0 } })
  await until('the sleep of all clusters', async () => {
    const { items } = (await server.request('GET', pathOf(ClusterDeployment))) as { items: ClusterDeployment[] }
    const own = items.filter(({ spec }) => spec.clusterPoolRef?.poolName === NAME)
    return own.every(({ status }) => status?.powerState === 'Hibernating') ? true : undefined
  })
}

/** Milliseconds from the creation of a claim until its kubeconfig lists the namespaces of its cluster; the claim is deleted again. */
export const claim = async (server: ApiServer, name: string): Promise<number> => {
  const began = performance.now()
  const secret = await kubeconfigOfNew(server, name)
  const names = await namespacesOf(secret.data?.kubeconfig ?? '')
  if (!names.includes('kube-system')) throw new Error(`the cluster of the claim ${name} has no namespace kube-system`)
  const took = performance.now() - began
  await server.request('DELETE', claimPath(name))
  return took
}

/** The same until it names a Secret, where its API server is reached by pods alone. */
export const claimUntilRunning = async (server: ApiServer, name: string): Promise<number> => {
  const began = performance.now()
  await kubeconfigOfNew(server, name)
  const took = performance.now() - began
  await server.request('DELETE', claimPath(name))
  return took
}

const claimPath = (name: string): string => pathOf(ClusterClaim, { namespace: NAMESPACE, name })

/** Makes a claim. @returns the Secret with the kubeconfig of its cluster */
const kubeconfigOfNew = async (server: ApiServer, name: string): Promise<Secret> => {
  const path = claimPath(name)
  await server.request('POST', pathOf(ClusterClaim, { namespace: NAMESPACE }), {
    apiVersion: apiVersionOf(ClusterClaim),
    kind: ClusterClaim.kind,
    metadata: { name },
    spec: { clusterPoolName: NAME },
  })
  const cluster = await until(
    `a cluster for the claim ${name}`,
    async () => {
      const { spec, status } = (await server.request('GET', path)) as ClusterClaim
      const runs = status?.conditions?.some(({ type, status: is }) => type === 'ClusterRunning' && is === 'True')
      return runs ? spec.namespace : undefined
    },
    POLL_MS,
  )
  const secretName = await until(
    `the kubeconfig of the cluster ${cluster}`,
    async () =>
      adminKubeconfigName(
        (await server.request(
          'GET',
          pathOf(ClusterDeployment, { namespace: cluster, name: cluster }),
        )) as ClusterDeployment,
      ),
    POLL_MS,
  )
  return (await server.request('GET', pathOf(Secret, { namespace: cluster, name: secretName }))) as Secret
}

export const remove = async (server: ApiServer): Promise<void> => {
  await server.request('DELETE', POOL)
  await until('the end of the pool', async () => ((await read(server, POOL)) === undefined ? true : undefined))
}
