/** What the Sentinel's benches start: `muster api` and `muster manager --controllers=sentinel`. */
import { freePort } from '#hack/process/ports.ts'
import { type MusterProcess, type Start, startApiProcess, startMuster } from '../program.ts'
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
export const startSentinel = async (stage: Stage, { api, config, prefix }: Sentinel = {}): Promise<MusterProcess> => {
  const probe = await freePort()
  const args = [
    'manager',
    '--controllers=sentinel',
    ...(config === undefined ? [] : [`--config=${config}`]),
    '--metrics-bind-address=0',
    `--health-probe-bind-address=127.0.0.1:${probe}`,
    '--log-level=warn',
    ...(api === undefined ? [] : [`--hyperfleet-api-url=${api}`]),
  ]
  return startMuster({
    args,
    url: '',
    probe: `http://127.0.0.1:${probe}/readyz`,
    folder: stage.folder,
    deployedAs: 'sentinel',
    env: { KUBECONFIG: stage.kubeconfig },
    ...(prefix !== undefined && { prefix }),
  })
}
