import type { Cluster } from '../cluster/cluster.ts'
import { DEVELOPER, NAMESPACE, type Up } from './steps.ts'

/** What to do next, as lines to copy. @param kubectl the program's name, or its path when it is not on the PATH */
export const hints = ({ cluster, apiUrl, metricsUrl }: Up, logs: string, kubectl: string): readonly string[] => {
  const choose = cluster.ours ? [] : [`  ${kubectl} config use-context ${cluster.context}`]
  return [
    '',
    'Muster is up. Look around:',
    `  export KUBECONFIG=${cluster.kubeconfig}`,
    ...choose,
    `  ${kubectl} get sentinelconfigs -A`,
    `  ${kubectl} describe sentinelconfig cluster-sentinel-us-east -n ${NAMESPACE}`,
    `  ${kubectl} get leases,events -n ${NAMESPACE}`,
    `  TOKEN=$(${kubectl} create token ${DEVELOPER} -n ${NAMESPACE} --audience=hyperfleet-api)`,
    `  curl -H "Authorization: Bearer $TOKEN" '${apiUrl}/api/hyperfleet/v1/clusters?labels=region=us-east'`,
    `  curl -s ${metricsUrl} | grep hyperfleet_sentinel_`,
    `Logs: ${logs}/api.log, manager.log and nats-server.log`,
  ]
}

/** How the SentinelConfigs see it themselves. */
export const standing = ({ kubectl }: Cluster): Promise<string> => kubectl(['get', 'sentinelconfigs', '-A'])
