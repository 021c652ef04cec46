/** Two managers fill one pool from one inventory, while an observer looks on. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { loadTransport } from '#operator/index.ts'
import { apiVersionOf, pathOf } from '#operator/model/resource.ts'
import { startInstaller } from '#test/integration/clusterpool/installer.ts'
import { startObserver } from '#test/integration/clusterpool/observer.ts'
import { inParallel, upTo } from '../in-parallel.ts'
import { moment } from '../load/moment.ts'
import type { Stage } from '../stage.ts'
import { startPools } from './ground.ts'

const NAMESPACE = 'default'
const IN_FLIGHT = 16
const LOOK_MS = 100
const DEADLINE_MS = 600_000

export interface Filling {
  /** Milliseconds from the creation of the pool until its status counts all clusters as installed. */
  readonly took: number
  /** How often a customization was seen in two clusters. */
  readonly twice: number
  /** Of both managers together, milliseconds. */
  readonly cpuMs: number
  /** Of the larger one. */
  readonly rssMiB: number
}

/** @param size of the pool and of its inventory */
export const fill = async (stage: Stage, size: number): Promise<Filling> => {
  const transport = await loadTransport({ kubeconfig: stage.kubeconfig })
  const installer = await startInstaller(transport, NAMESPACE)
  const observer = await startObserver(transport, NAMESPACE)
  const names = upTo(size).map((index) => `c${index}`)
  await inParallel(names, IN_FLIGHT, (name) =>
    stage.server.request('POST', pathOf(ClusterDeploymentCustomization, { namespace: NAMESPACE }), {
      apiVersion: apiVersionOf(ClusterDeploymentCustomization),
      kind: ClusterDeploymentCustomization.kind,
      metadata: { name },
      spec: { installConfigPatches: [{ op: 'replace', path: '/metadata/name', value: name }] },
    }),
  )
  await using one = await startPools(stage)
  await using two = await startPools(stage)
  const managers = [one, two]
  const usedBefore = managers.map(({ usage }) => usage().cpuMs)
  const began = moment()
  await stage.server.request('POST', pathOf(ClusterPool, { namespace: NAMESPACE }), {
    apiVersion: apiVersionOf(ClusterPool),
    kind: ClusterPool.kind,
    metadata: { name: 'bench' },
    spec: {
      platform: { aws: { region: 'us-east-1' } },
      baseDomain: 'example.com',
      imageSetRef: { name: 'openshift-v4.20' },
      size,
      inventory: { ClusterDeploymentCustomizations: names.map((name) => ({ name })) },
    },
  })
  await untilFilled(stage, size)
  const took = moment() - began
  const used = managers.map(({ usage }) => usage())
  await installer.stop()
  await observer.stop()
  await transport.close()
  return {
    took,
    twice: observer.twice.length,
    cpuMs: used.reduce((sum, { cpuMs }, index) => sum + cpuMs - (usedBefore[index] ?? 0), 0),
    rssMiB: Math.max(...used.map(({ rssMiB }) => rssMiB)),
  }
}

const untilFilled = async ({ server }: Stage, size: number): Promise<void> => {
  const deadline = moment() + DEADLINE_MS
  for (;;) {
    const { status } = (await server.request(
      'GET',
      pathOf(ClusterPool, { namespace: NAMESPACE, name: 'bench' }),
    )) as ClusterPool
    if (status?.size === size && status.standby === size) return
    if (moment() > deadline)
      throw new Error(`only ${status?.standby ?? 0} of ${size} clusters were installed within ${DEADLINE_MS / 1000} s`)
    await sleep(LOOK_MS)
  }
}
