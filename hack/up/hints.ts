import type { Cluster } from '../cluster/cluster.ts'
import { DEVELOPER } from '../muster/api.ts'
import { FLEET } from '../muster/managers.ts'
import { NAMESPACE } from './place.ts'
import type { Up } from './steps.ts'

/** What to do next, as lines to copy. @param kubectl the program's name, or its path when it is not on the PATH */
export const hints = (
  { cluster, apiUrl, managers, runsUrl, claimedKubeconfig }: Up,
  logs: string,
  kubectl: string,
): readonly string[] => {
  const choose = cluster.ours ? [] : [`  ${kubectl} config use-context ${cluster.context}`]
  const hasFleet = managers.some(({ subject }) => subject === FLEET.subject)
  return [
    '',
    'Muster is up. Look around:',
    `  export KUBECONFIG=${cluster.kubeconfig}`,
    ...choose,
    `  ${kubectl} get sentinelconfigs,adaptertasks,clusterpools -A`,
    `  ${kubectl} get clusterpools,clusterdeployments,clusterdeploymentcustomizations -A`,
    ...(hasFleet ? [`  ${kubectl} get fleetdep,fleetdev -A`] : []),
    `  ${kubectl} describe clusterpool edge -n ${NAMESPACE}`,
    `  ${kubectl} describe sentinelconfig cluster-sentinel-us-east -n ${NAMESPACE}`,
    `  ${kubectl} describe adaptertask cluster-config -n ${NAMESPACE}`,
    `  ${kubectl} get namespaces,configmaps,jobs -A -l muster.dev/adapter`,
    `  ${kubectl} get leases,events -n ${NAMESPACE}`,
    `  TOKEN=$(${kubectl} create token ${DEVELOPER} -n ${NAMESPACE} --audience=hyperfleet-api)`,
    `  curl -H "Authorization: Bearer $TOKEN" '${apiUrl}/api/hyperfleet/v1/clusters?labels=region=us-east'`,
    ...managers.map(({ metricsUrl }) => `  curl -s ${metricsUrl} | grep -E '^(hyperfleet|hive|fleet|muster)_'`),
    `  curl -s '${runsUrl}?task=cluster-config&limit=1'`,
    ...(claimedKubeconfig === undefined
      ? []
      : ['The real cluster of the claim mine:', `  ${kubectl} --kubeconfig=${claimedKubeconfig} get namespaces`]),
    'Dashboards, one a manager; each shows what its manager looks after:',
    ...managers.map(({ subject, dashboardUrl }) => `  ${dashboardUrl}  ${subject}`),
    `Logs: ${logs}/*.log`,
  ]
}

/** How the SentinelConfigs, the AdapterTasks, the pool and the fleet see it themselves; of what there is none, nothing. */
export const tabulateObjects = async ({ kubectl }: Cluster): Promise<string> => {
  const tables = await Promise.all(
    ['sentinelconfigs', 'adaptertasks', 'clusterpools', 'fleetdep', 'fleetdev'].map((kind) =>
      kubectl(['get', kind, '-A']),
    ),
  )
  return tables
    .filter((table) => table !== '')
    .join('\n')
    .trimEnd()
}
