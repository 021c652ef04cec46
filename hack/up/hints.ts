import type { Cluster } from '../cluster/cluster.ts'
import { DEVELOPER, NAMESPACE, type Up } from './steps.ts'

/** What to do next, as lines to copy. @param kubectl the program's name, or its path when it is not on the PATH */
export const hints = ({ cluster, apiUrl, metricsUrls }: Up, logs: string, kubectl: string): readonly string[] => {
  const choose = cluster.ours ? [] : [`  ${kubectl} config use-context ${cluster.context}`]
  return [
    '',
    'Muster is up. Look around:',
    `  export KUBECONFIG=${cluster.kubeconfig}`,
    ...choose,
    `  ${kubectl} get sentinelconfigs,adaptertasks -A`,
    `  ${kubectl} describe sentinelconfig cluster-sentinel-us-east -n ${NAMESPACE}`,
    `  ${kubectl} describe adaptertask cluster-config -n ${NAMESPACE}`,
    `  ${kubectl} get namespaces,configmaps,jobs -A -l muster.dev/adapter`,
    `  ${kubectl} get leases,events -n ${NAMESPACE}`,
    `  TOKEN=$(${kubectl} create token ${DEVELOPER} -n ${NAMESPACE} --audience=hyperfleet-api)`,
    `  curl -H "Authorization: Bearer $TOKEN" '${apiUrl}/api/hyperfleet/v1/clusters?labels=region=us-east'`,
    ...metricsUrls.map((url) => `  curl -s ${url} | grep -E '^hyperfleet_(sentinel|adapter)_'`),
    `Logs: ${logs}/api.log, sentinels.log, adapters.log and nats-server.log`,
  ]
}

/** How the SentinelConfigs and the AdapterTasks see it themselves. */
export const standing = async ({ kubectl }: Cluster): Promise<string> => {
  const tables = await Promise.all(['sentinelconfigs', 'adaptertasks'].map((kind) => kubectl(['get', kind, '-A'])))
  return tables.join('\n').trimEnd()
}
