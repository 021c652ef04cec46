/** An etcd that is put back to an earlier moment, below the whole suite. */
import { cp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { layoutOf } from '#hack/cluster/local/layout.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { ALL_WORK, type Fault } from './fault.ts'
import { type FaultWorld, STEADY, untilAsDeclared } from './world.ts'

/** Nothing writes while it is copied. */
const whileStopped = async ({ cluster }: FaultWorld, copy: () => Promise<void>): Promise<void> => {
  await cluster.kill('kube-apiserver')
  await cluster.kill('etcd')
  await copy()
  await cluster.restart('etcd')
  await cluster.restart('kube-apiserver')
}

/** Yesterday: a rollout, its revisions and all statuses of it are forgotten. Clusters that came and went since: test/e2e/disaster. */
export const etcdOfYesterday: Fault = {
  begin: async (world) => {
    const { data } = layoutOf(dirname(world.cluster.kubeconfig))
    const backup = join(await temporaryFolder('backup'), 'etcd')
    await whileStopped(world, () => cp(data, backup, { recursive: true }))
    await world.declare({ ...STEADY, rollouts: { web: 'today', more: 'today' } })
    await untilAsDeclared(world)
    await whileStopped(world, async () => {
      await rm(data, { recursive: true })
      await cp(backup, data, { recursive: true })
    })
    return { async [Symbol.asyncDispose]() {} }
  },
  meanwhile: ALL_WORK,
}
