/** The sample resources in the HyperFleet API: made, followed to a goal, and deleted. */
import { REGISTRATION } from '#controllers/clusterdeployment/labels.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { untilGoal } from './goal.ts'
import { type Hyperfleet, hyperfleet, type Resource } from './hyperfleet.ts'
import { follow, progressLine, progressTable, type Sighting } from './progress.ts'
import type { Run } from './run.ts'
import { SAMPLES, type Sample, TYPES } from './samples.ts'
import type { Screen } from './screen.ts'

/** How long the adapters may take to clean up at the end, in milliseconds. */
const CLEANUP_TIMEOUT_MS = 60_000

export const createSamples = async (api: Hyperfleet): Promise<readonly Resource[]> => {
  const created = new Map<Sample['name'], Resource>()
  for (const sample of SAMPLES) {
    const owner = sample.cluster === undefined ? undefined : created.get(sample.cluster)
    created.set(sample.name, await api.create(sample, owner))
  }
  return [...created.values()]
}

/** What the adapters have applied for them goes with them, so this needs the managers. */
export const deleteAll = async (apiUrl: string, token: string): Promise<void> => {
  using limit = new AbortScope().within(CLEANUP_TIMEOUT_MS)
  const { signal } = limit
  const api = hyperfleet(apiUrl, token, signal)
  // Those of the pool go with it.
  const left = (await Promise.all(TYPES.map(api.list)))
    .flat()
    .filter(({ labels }) => labels?.[REGISTRATION] === undefined)
  await Promise.all(
    left.filter(({ owner_references: owner }) => owner === undefined).map(({ href }) => api.remove(href)),
  )
  await follow(
    api,
    left,
    (all) => all.every(isGone),
    signal,
    () => undefined,
  )
}

export const isReady = ({ resource }: Sighting): boolean => resource.status.phase === 'Ready'
export const isGone = (sighting: Sighting): boolean => sighting.isGone

/** Follows resources until each has reached the goal. */
export const untilAll = (
  run: Run,
  screen: Screen,
  api: Hyperfleet,
  resources: readonly Resource[],
  isDone: (sighting: Sighting) => boolean,
): Promise<readonly Sighting[]> =>
  untilGoal(run, screen, (signal, onSighting) =>
    follow(
      api,
      resources,
      (all) => all.every(isDone),
      signal,
      (all, latest) => {
        const missing = all.filter((sighting) => !isDone(sighting)).map(progressLine)
        onSighting([progressLine(latest)], progressTable(all), missing)
      },
    ),
  )
