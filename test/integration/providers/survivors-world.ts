/**
 * A pool of real clusters of the provider `local`, with a front before its service, for tests of what such clusters survive. Managers are
 * the tests' to start.
 */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { adminKubeconfigName } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterView } from '#hack/local-clusters/cluster.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { startControlPlane } from '#test/harness/index.ts'
import { front } from '../clusterdeployment/front.ts'
import { wholeWorld } from './whole-world.ts'
import { PATIENCE, serviceWorld, TOKEN } from './world.ts'

/** How many clusters there may be. */
export const QUOTA = 3
export const HIVE = '/apis/hive.openshift.io/v1'
export const POOL = 'survivors'

export type SurvivorsWorld = Awaited<ReturnType<typeof survivorsWorld>>

export const survivorsWorld = async () => {
  await using stack = new AsyncDisposableStack()
  const service = stack.use(await serviceWorld(QUOTA))
  const before = stack.use(await front(service.url))
  const plane = stack.use(await startControlPlane())
  // A process has tasks' accounts elsewhere in the namespaces of an install alone.
  const world = stack.use(
    await wholeWorld({ plane, adapter: 'cluster-local', accountsApart: false, backoffReady: '5s' }),
  )
  const secrets = await temporaryFolder('provider')
  await writeFile(join(secrets, 'token'), TOKEN, { mode: 0o600 })
  await world.applyFolder('kustomize/providers/local', (text) =>
    text.replaceAll('http://127.0.0.1:8470', before.url).replaceAll('/var/run/secrets/local-clusters', secrets),
  )

  const pool = (spec: object) =>
    world.apply(
      JSON.stringify({
        apiVersion: 'hive.openshift.io/v1',
        kind: 'ClusterPool',
        metadata: { name: POOL, namespace: world.namespace },
        spec: {
          baseDomain: 'example.com',
          platform: { none: {} },
          imageSetRef: { name: 'kubernetes-v1.36' },
          labels: { provider: 'local' },
          ...spec,
        },
      }),
    )
  const sizes = (size: number, runningCount = size) => pool({ size, runningCount })

  const get = <T>(path: string) => world.plane.rest<T>('GET', path)
  const deployments = async () => (await get<{ items: ClusterDeployment[] }>(`${HIVE}/clusterdeployments`)).items
  const deployment = (name: string) => get<ClusterDeployment>(`${HIVE}/namespaces/${name}/clusterdeployments/${name}`)
  const condition = async (name: string, type: string) =>
    findCondition((await deployment(name)).status?.conditions, type)
  const poolCondition = async (type: string) => {
    const { status } = await get<ClusterDeployment>(`${HIVE}/namespaces/${world.namespace}/clusterpools/${POOL}`)
    return findCondition(status?.conditions, type)
  }
  const clusters = async () =>
    (await service.call<{ items: readonly ClusterView[] }>('GET', '/clusters')).body.items.map(({ name, uid }) => ({
      name,
      uid,
    }))

  /** Names of those that run, once there are so many and no others. */
  const untilRunning = (count: number): Promise<readonly string[]> =>
    vi.waitFor(async () => {
      const all = await deployments()
      const running = all.filter(({ status }) => status?.powerState === 'Running')
      expect([all.length, running.length], JSON.stringify(all.map(({ status }) => status))).toEqual([count, count])
      return all.map(({ metadata }) => metadata.name)
    }, PATIENCE)

  const secretOf = async (name: string): Promise<string> => {
    const reference = await vi.waitFor(async () => {
      const named = adminKubeconfigName(await deployment(name))
      return named ?? expect.fail('no Secret is named yet')
    }, PATIENCE)
    const path = `/api/v1/namespaces/${name}/secrets/${reference}`
    return (await get<{ data: { kubeconfig: string } }>(path)).data.kubeconfig
  }

  const record = async (name: string): Promise<string> => (await deployment(name)).status?.hyperfleet?.id ?? ''

  const apiServerOf = async (name: string): Promise<{ readonly pid: number; readonly uid: string }> => {
    const { uid } = (await service.call('GET', `/clusters/${await record(name)}`)).body
    return { pid: Number(readFileSync(`${service.folderOf(uid)}/kube-apiserver.pid`, 'utf8')), uid }
  }

  const all = stack.move()
  return {
    service,
    before,
    world,
    /** Files that the provider's task may read. */
    secrets,
    /** So many clusters stand by, and so many of these run, or all. */
    sizes,
    get,
    deployments,
    deployment,
    condition,
    poolCondition,
    clusters,
    untilRunning,
    secretOf,
    record,
    apiServerOf,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
