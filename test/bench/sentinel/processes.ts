/** What the Sentinel's benches start: `muster api` and `muster manager --controllers=sentinel`. */
import { freePort } from '#hack/process/ports.ts'
import { type MusterProcess, startApiProcess, startMuster } from '../program.ts'
import type { Stage } from '../stage.ts'

/** The HyperFleet API on an empty embedded database. */
export const startApi = (stage: Stage): Promise<MusterProcess> => startApiProcess(stage.folder)

/**
 * A manager that runs the Sentinel alone, for all namespaces.
 * @param api the URL that its SentinelConfigs name @param config the name of its SentinelConfig; all when undefined
 */
export const startSentinel = async (stage: Stage, api?: string, config?: string): Promise<MusterProcess> => {
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
  })
}
