/** An etcd that is put back to an earlier moment, below the whole suite. */
import { setTimeout } from 'node:timers/promises'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { backUpEtcd } from '#test/harness/etcd-backup.ts'
import { ALL_WORK, type Fault } from './fault.ts'
import { type FaultWorld, STEADY, untilAsDeclared } from './world.ts'

/**
 * What the status tells a person to do: a device whose revision the operator has not seen waits for that (FLEET-50). Whether it has
 * depends on which kind it listed first after the restore.
 */
const overruleAsTold = async ({ cluster }: FaultWorld): Promise<void> => {
  const text = await cluster.kubectl('get', 'deployments.fleet.nationtech.io', '--all-namespaces', '--output=json')
  const { items } = JSON.parse(text) as { readonly items: readonly Deployment[] }
  for (const { metadata, status } of items) {
    const told = status?.aggregate?.offenders?.map(
      ({ message }) => /annotate the Deployment with (\S+=\d+)/.exec(message ?? '')?.[1],
    )
    const annotation = told?.find((one) => one !== undefined)
    const { name, namespace = '' } = metadata
    if (annotation !== undefined)
      await cluster.kubectl(
        'annotate',
        '--overwrite',
        `deployments.fleet.nationtech.io/${name}`,
        '-n',
        namespace,
        annotation,
      )
  }
}

/** Yesterday: a rollout, its revisions and all statuses of it are forgotten. Clusters that came and went since: test/e2e/disaster. */
export const etcdOfYesterday: Fault = {
  begin: async (world) => {
    const backup = await backUpEtcd(world.cluster)
    await world.declare({ ...STEADY, rollouts: { web: 'today', more: 'today' } })
    await untilAsDeclared(world)
    await backup.restore()
    const stop = new AbortController()
    const person = (async () => {
      while (!stop.signal.aborted) {
        await overruleAsTold(world).catch(() => undefined)
        await setTimeout(1_000, undefined, { signal: stop.signal }).catch(() => undefined)
      }
    })()
    return {
      async [Symbol.asyncDispose]() {
        stop.abort()
        await person
      },
    }
  },
  meanwhile: ALL_WORK,
}
