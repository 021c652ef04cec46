import { createHyperFleetClient, type HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import type { ClusterDeploymentOptions } from './options.ts'

/** Of one request to the HyperFleet API, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000

type ConnectionOptions = Pick<
  ClusterDeploymentOptions,
  'hyperfleetApiUrl' | 'hyperfleetApiTokenFile' | 'hyperfleetApiCa' | 'version' | 'clock'
>

/** The HyperFleet API that clusters are registered with. Nothing is asked of it yet. */
export const connectApi = ({
  hyperfleetApiUrl: url,
  hyperfleetApiTokenFile: tokenFile,
  hyperfleetApiCa: caFile,
  version,
  clock,
}: ConnectionOptions): HyperFleetClient =>
  createHyperFleetClient({
    url,
    timeout: REQUEST_TIMEOUT_MS,
    userAgent: `muster-clusterdeployment/${version}`,
    tokenFile,
    caFile,
    clock,
  })
