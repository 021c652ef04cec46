/** What the Sentinel's benches start: `muster api` and `muster manager --controllers=sentinel`. */
import { type MusterProcess, type Start, startApiProcess, startManager } from '../program.ts'
import type { Stage } from '../stage.ts'

/** The HyperFleet API on an empty embedded database. */
export const startApi = (stage: Stage): Promise<MusterProcess> => startApiProcess(stage.folder)

interface Sentinel extends Pick<Start, 'prefix'> {
  /** The URL that its SentinelConfigs name. */
  readonly api?: string
  /** The name of its SentinelConfig; all when undefined. */
  readonly config?: string
}

/** A manager that runs the Sentinel alone, for all namespaces. */
export const startSentinel = (stage: Stage, { api, config, prefix }: Sentinel = {}): Promise<MusterProcess> =>
  startManager(stage, {
    controllers: 'sentinel',
    flags: [
      ...(config === undefined ? [] : [`--config=${config}`]),
      ...(api === undefined ? [] : [`--hyperfleet-api-url=${api}`]),
    ],
    deployedAs: 'sentinel',
    ...(prefix !== undefined && { prefix }),
  })
