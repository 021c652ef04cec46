/** The pool of real clusters as `npm run up` shows it: claimed, used, given back. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { printKubeconfig } from '../../cmd/claim/kubeconfig.ts'
import { type Kubectl, kubectl } from '../cluster/kubectl.ts'
import { PARTS } from '../local-clusters/control-plane.ts'
import { findDaemon } from '../local-clusters/daemon.ts'
import { Etcd } from '../local-clusters/etcd.ts'
import { commandLineOf } from '../process/identity.ts'
import { untilGoal } from './goal.ts'
import { leftOverOf, listEverything } from './left-over.ts'
import { apply, render } from './manifests.ts'
import { KUSTOMIZE, type Place } from './place.ts'
import { type PoolSighting, untilPool } from './pool.ts'
import type { ClusterService } from './provider.ts'

/** The pool of kustomize/providers/local/pool, and the claims of kustomize/providers/local/claims. */
const POOL = 'lab'
const [FIRST, SECOND] = ['mine', 'yours']
/** The namespace that the fleet makes in each cluster of the pool. */
const ROLLED_OUT = 'team'

const POLL_INTERVAL_MS = 300

/** One cluster runs, the other one hibernates. */
const isStocked = ({ ready, standby }: PoolSighting): boolean => ready === 1 && standby === 1
const hasCluster =
  (claim: string) =>
  ({ claims }: PoolSighting): boolean =>
    claims.get(claim) === 'ClusterClaimed'

/**
 * Claims a real cluster and uses it.
 * @param hasFleet whether it gets a workload
 * @param both a second claim is made, which has to wait: only one cluster runs
 * @returns the path of the kubeconfig
 */
export const claimRealCluster = async (
  place: Place,
  { binaries }: ClusterService,
  hasFleet: boolean,
  both: boolean,
): Promise<string> => {
  const { run, cluster, namespace, scratch } = place
  const file = join(scratch, `${FIRST}.kubeconfig`)
  const stocked = await run.step(`Watch the pool ${POOL} until one real cluster runs and another one hibernates`, () =>
    untilPool(place, POOL, undefined, isStocked),
  )
  await run.step(`Claim a cluster of ${POOL} and take its kubeconfig`, async () => {
    await claim(place, both ? [FIRST, SECOND] : [FIRST])
    await untilPool(place, POOL, stocked, hasCluster(FIRST))
    const { kubeconfig, context } = cluster
    await printKubeconfig(FIRST, { namespace, write: file, kubeconfig, context })
  })
  await run.step(
    `List its namespaces with that kubeconfig${hasFleet ? ', the one that the fleet makes there among them' : ''}`,
    () =>
      untilListed(
        place,
        kubectl(join(binaries, 'kubectl'), [`--kubeconfig=${file}`]),
        hasFleet ? ROLLED_OUT : 'default',
      ),
    (names) => names.join(', '),
  )
  return file
}

/** The second claim is in the queue until the cluster that hibernated has woken up. */
export const watchSecondClaim = (place: Place): Promise<PoolSighting> =>
  place.run.step('Watch a second claim wait in the queue until the other cluster runs', () =>
    untilPool(place, POOL, undefined, hasCluster(SECOND)),
  )

const claim = async ({ cluster }: Place, names: readonly string[]): Promise<void> => {
  const claims = await render(cluster, join(KUSTOMIZE, 'providers', 'local', 'claims'))
  await apply(
    cluster,
    claims.filter(({ metadata }) => names.includes(metadata.name)),
  )
}

/** @returns the names of the namespaces, once the one that is looked for is among them */
const untilListed = ({ run, screen }: Place, claimed: Kubectl, name: string): Promise<readonly string[]> =>
  untilGoal(run, screen, async (signal, onSighting) => {
    for (let before = ''; ; ) {
      const output = await claimed(['get', 'namespaces', '-o', 'name'])
      const names = output
        .trim()
        .split('\n')
        .map((line) => line.replace('namespace/', ''))
      if (names.includes(name)) return names
      if (output !== before) onSighting([`there is no namespace ${name} yet`], names)
      before = output
      await delay(POLL_INTERVAL_MS, undefined, { signal })
    }
  })

/**
 * Gives everything back, without waiting for it.
 * @param folder of the service's state
 * @returns waits until all of it is gone
 */
export const releaseRealClusters = (place: Place, folder: string): Promise<() => Promise<void>> => {
  const { run, cluster, namespace } = place
  const inNamespace = `--namespace=${namespace}`
  return run.step(`Delete both claims and the pool ${POOL}`, async () => {
    const processes = await processesBelow(folder)
    for (const objects of [
      ['clusterclaims', FIRST, SECOND],
      ['clusterpool', POOL],
    ])
      await cluster.kubectl(['delete', ...objects, inNamespace, '--wait=false'])
    return () =>
      run.step('See that no process, folder, key in etcd and object of the real clusters is left', async () => {
        await cluster.kubectl(['wait', `clusterpool/${POOL}`, inNamespace, '--for=delete', '--timeout=180s'])
        await untilNothingLeft(place, folder, processes)
      })
  })
}

/** Numbers of the processes of its clusters. */
const processesBelow = async (folder: string): Promise<readonly number[]> => {
  const clusters = join(folder, 'clusters')
  const daemons = (await readdir(clusters)).flatMap((uid) =>
    PARTS.map((name) => findDaemon({ name, folder: join(clusters, uid) })),
  )
  return (await Promise.all(daemons)).filter((pid) => pid !== undefined)
}

/** A namespace takes a while to go after its pool. @throws Error that says what is left */
const untilNothingLeft = (place: Place, folder: string, processes: readonly number[]): Promise<void> =>
  untilGoal(place.run, place.screen, async (signal, onSighting) => {
    for (let before = ''; ; ) {
      const left = await findLeft(place, folder, processes)
      if (left.length === 0) return
      const lines = left.map((one) => `still there: ${one}`)
      if (lines.join() !== before) onSighting(lines, lines)
      before = lines.join()
      await delay(POLL_INTERVAL_MS, undefined, { signal })
    }
  })

const findLeft = async (
  { cluster }: Place,
  folder: string,
  processes: readonly number[],
): Promise<readonly string[]> => {
  const clusters = join(folder, 'clusters')
  const etcd = new Etcd({ folder: join(folder, 'etcd'), binaries: '', guarded: false })
  const commands = await Promise.all(processes.map(commandLineOf))
  const keys = await etcd.count('/clusters')
  await etcd.close()
  return [
    ...commands.filter((command) => command?.includes(folder)).map((command) => `process ${command}`),
    ...(existsSync(clusters) ? await readdir(clusters) : []).map((uid) => `folder ${join(clusters, uid)}`),
    ...(keys > 0 ? [`${keys} keys in etcd`] : []),
    ...leftOverOf(POOL, await listEverything(cluster.kubectl)),
  ]
}
