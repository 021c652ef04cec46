/** What the samples show, step by step: resources that become Ready and go, a pool with a claim, a rollout. */
import { join } from 'node:path'
import { DEVELOPER } from '../muster/api.ts'
import { hyperfleetToken } from '../muster/tokens.ts'
import { followFleet, isRolledOut } from './fleet.ts'
import { untilGoal } from './goal.ts'
import { hyperfleet } from './hyperfleet.ts'
import { apply, type Manifest, pointedAt, render } from './manifests.ts'
import { applyForNow, KUSTOMIZE, type Place } from './place.ts'
import { CLAIM, isFilled, isFree, isRefilled, POOL, removePool, untilPool } from './pool.ts'
import type { Sighting } from './progress.ts'
import { createSamples, deleteAll, isGone, isReady, untilAll } from './sample-resources.ts'
import { DELETED } from './samples.ts'

/** @param more objects that are applied with the samples */
export const applySamples = async (place: Place, apiUrl: string, more: readonly Manifest[]): Promise<void> => {
  const { run, cluster, namespace } = place
  await run.step('Apply kustomize/samples', async () => {
    const rendered = await render(cluster, join(KUSTOMIZE, 'samples'))
    const samples = [...rendered, ...more].map(pointedAt(apiUrl))
    await applyForNow(place, 'Removing the samples', samples)
    // Its clusters go only while an adapter takes them down.
    if (!cluster.ours) run.undo('Deleting the sample pool', () => removePool(cluster, namespace))
  })
  await run.step('Wait until every AdapterTask takes events', async () => {
    const ready = ['--for=condition=Ready', '--timeout=60s']
    await cluster.kubectl(['wait', 'adaptertasks', '--all', `--namespace=${namespace}`, ...ready])
  })
}

/** Makes sample resources, waits until they are Ready, and deletes one with what is below it. @returns those that are left */
export const followResources = async (place: Place, apiUrl: string): Promise<readonly Sighting[]> => {
  const { run, screen, cluster, namespace } = place
  const token = await hyperfleetToken(cluster, DEVELOPER, namespace)
  const api = hyperfleet(apiUrl, token, run.signal)
  const resources = await run.step(
    'Create sample clusters and node pools',
    () => {
      if (!cluster.ours) run.undo('Deleting the sample clusters', () => deleteAll(apiUrl, token))
      return createSamples(api)
    },
    ({ length }) => `${length} resources`,
  )
  const ready = await run.step('Watch the adapters until every sample is Ready', () =>
    untilAll(run, screen, api, resources, isReady),
  )
  return run.step(`Delete the cluster ${DELETED} and watch it and its node pool go`, async () => {
    const deleted = ready.find(({ resource }) => resource.name === DELETED)?.resource
    const leaving = resources.filter(({ id, owner_references: owner }) => [id, owner?.id].includes(deleted?.id))
    await api.remove(deleted?.href ?? '')
    await untilAll(run, screen, api, leaving, isGone)
    return ready.filter(({ resource }) => !leaving.some(({ id }) => id === resource.id))
  })
}

/** Waits for the sample pool, claims a cluster of it, and gives it back. */
export const followClaim = async (place: Place): Promise<void> => {
  const { run, cluster, namespace } = place
  const filled = await run.step(`Watch the pool ${POOL} until its three clusters are ready`, () =>
    untilPool(place, POOL, undefined, isFilled),
  )
  const refilled = await run.step(`Claim a cluster of ${POOL} and watch the pool refill`, async () => {
    await apply(cluster, await render(cluster, join(KUSTOMIZE, 'samples', 'claim')))
    return untilPool(place, POOL, filled, isRefilled)
  })
  await run.step('Delete the claim and watch its cluster go and its customization become free', async () => {
    await cluster.kubectl(['delete', 'clusterclaim', CLAIM, `--namespace=${namespace}`, '--wait=false'])
    await untilPool(place, POOL, refilled, isFree)
  })
}

export const followSentinels = ({ run, cluster, namespace }: Place): Promise<void> =>
  run.step('See the same in the status of every SentinelConfig', async () => {
    const satisfied = ['--for=jsonpath={.status.notReady}=0', '--timeout=60s']
    await cluster.kubectl(['wait', 'sentinelconfigs', '--all', `--namespace=${namespace}`, ...satisfied])
  })

export const followRollout = (place: Place): Promise<void> =>
  place.run.step('Roll greeter out to the devices in two batches', async () => {
    const { run, screen, cluster } = place
    await applyForNow(place, 'Removing greeter', await render(cluster, join(KUSTOMIZE, 'samples', 'fleet')))
    await untilGoal(run, screen, (signal, seen) => followFleet(cluster, signal, seen, isRolledOut))
  })
