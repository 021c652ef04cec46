/** A cluster as a device of the fleet: when it is one, its name, labels and inventory. AGENT-20, AGENT-24. Pure. */
import { CLUSTER_FIELD, clusterDeviceName, clusterOriginLabels } from '#apis/fleet.nationtech.io/cluster-device.ts'
import { isListed } from '#apis/fleet.nationtech.io/label-list.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { isTrue } from '#operator/model/conditions.ts'

/** The label of a ClusterDeployment that makes it a device; pools give it to their clusters by `spec.labels`. */
export const OPT_IN_LABEL = 'fleet.nationtech.io/device'

/** Whether an agent is to work for it: it was asked for, and the cluster is there and runs. */
export const needsAgent = ({ metadata, status }: ClusterDeployment): boolean =>
  metadata.labels?.[OPT_IN_LABEL] === 'true' &&
  metadata.deletionTimestamp === undefined &&
  status?.powerState === 'Running' &&
  isTrue(status.conditions, 'Ready')

/** The name of its Device. */
export const deviceName = ({ metadata }: ClusterDeployment): string => clusterDeviceName(metadata)

/** @param copied Which labels of the ClusterDeployment its Device gets: keys, or prefixes that end in a slash. */
export const labelsOf = (
  { metadata, spec }: ClusterDeployment,
  copied: readonly string[],
): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => isListed(key, copied))),
  ...clusterOriginLabels(metadata, spec.clusterPoolRef?.poolName),
})

/** What is told of it beside its labels. */
export const inventoryOf = ({ metadata, spec }: ClusterDeployment): Readonly<Record<string, string>> => ({
  [CLUSTER_FIELD]: `${metadata.namespace}/${metadata.name}`,
  clusterName: spec.clusterName,
  baseDomain: spec.baseDomain,
})
