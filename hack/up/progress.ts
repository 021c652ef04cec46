import { setTimeout as delay } from 'node:timers/promises'
import type { Hyperfleet, Resource } from './hyperfleet.ts'
import { TYPES } from './samples.ts'

/** What has been seen of one sample resource last. */
export interface Sighting {
  readonly resource: Resource
  /** The API has forgotten it: its deletion is done. */
  readonly isGone: boolean
}

/** Between two requests to the API. */
const POLL_INTERVAL_MS = 300

/** Tells how the resources get on, each time something about one has changed. Ends with the goal, or with the signal's reason. */
export const follow = async (
  api: Hyperfleet,
  resources: readonly Resource[],
  isDone: (all: readonly Sighting[]) => boolean,
  signal: AbortSignal,
  onSighting: (all: readonly Sighting[], latest: Sighting) => void,
): Promise<readonly Sighting[]> => {
  const seen = new Map(resources.map((resource) => [resource.id, { resource, isGone: false } as Sighting]))
  while (!isDone([...seen.values()])) {
    await delay(POLL_INTERVAL_MS, undefined, { signal })
    const found = new Map((await Promise.all(TYPES.map(api.list))).flat().map((resource) => [resource.id, resource]))
    for (const [id, before] of seen) {
      const now = found.get(id)
      const sighting = { resource: now ?? before.resource, isGone: now === undefined }
      if (summary(sighting) === summary(before)) continue
      seen.set(id, sighting)
      onSighting([...seen.values()], sighting)
    }
  }
  return [...seen.values()]
}

const SUFFIX = 'Successful'

/** What each required adapter said last, such as `ClusterConfig=True`. */
const adaptersOf = ({ status }: Resource): string =>
  status.conditions
    .filter(({ type }) => type.endsWith(SUFFIX))
    .map(({ type, status: reported }) => `${type.slice(0, -SUFFIX.length)}=${reported}`)
    .join(' ')

const phaseOf = ({ resource, isGone }: Sighting): string => (isGone ? 'gone' : resource.status.phase)

const nameOf = ({ kind, name }: Resource): string => `${kind.toLowerCase()}/${name}`

const summary = (sighting: Sighting): string =>
  JSON.stringify([phaseOf(sighting), sighting.resource.generation, adaptersOf(sighting.resource)])

const HEADERS = ['RESOURCE', 'LABELS', 'GENERATION', 'PHASE', 'ADAPTERS'] as const

const labelsOf = ({ labels = {} }: Resource): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')

const cellsOf = (sighting: Sighting): readonly string[] => {
  const { resource } = sighting
  const cells = [nameOf(resource), labelsOf(resource), String(resource.generation), phaseOf(sighting)]
  return [...cells, adaptersOf(resource)].map((cell) => cell || '-')
}

/** The sightings as aligned columns, with a line of headers. */
export const progressTable = (observations: readonly Sighting[]): readonly string[] => {
  const rows = [HEADERS, ...observations.map(cellsOf)]
  const widths = HEADERS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** One sighting as a line, for output that can't be redrawn. */
export const progressLine = (sighting: Sighting): string => {
  const reports = sighting.isGone ? '' : adaptersOf(sighting.resource)
  return `${nameOf(sighting.resource)} is ${phaseOf(sighting)}${reports && ` (${reports})`}`
}
