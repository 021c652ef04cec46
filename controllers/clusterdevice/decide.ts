/** A cluster as a device of the fleet: when it is one, its name, labels and inventory. AGENT-20, AGENT-24. Pure. */
import { createHash } from 'node:crypto'
import { CLUSTER_FIELD } from '#apis/fleet.nationtech.io/cluster-device.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { isTrue } from '#operator/model/conditions.ts'

/** The label of a ClusterDeployment that makes it a device; pools give it to their clusters by `spec.labels`. */
export const OPT_IN_LABEL = 'fleet.nationtech.io/device'

/** Labels of every such device: where it comes from. */
const NAMESPACE_LABEL = 'fleet.nationtech.io/cluster-namespace'
export const POOL_LABEL = 'fleet.nationtech.io/cluster-pool'

/** A label's value, and a part of a key in NATS, has at most so many characters. */
const MAX_NAME_CHARS = 63

/** Whether an agent is to work for it: it was asked for, and the cluster is there and runs. */
export const needsAgent = ({ metadata, status }: ClusterDeployment): boolean =>
  metadata.labels?.[OPT_IN_LABEL] === 'true' &&
  metadata.deletionTimestamp === undefined &&
  status?.powerState === 'Running' &&
  isTrue(status.conditions, 'Ready')

/**
 * The name of its Device, a DNS-1123 label: its own where that is unique, as for clusters of pools, which have a namespace of
 * their name; else with a digest of both.
 */
export const deviceName = ({ metadata: { namespace = '', name } }: ClusterDeployment): string => {
  if (namespace === name && name.length <= MAX_NAME_CHARS) return name
  const digest = createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 8)
  return `${name.replaceAll('.', '-').slice(0, MAX_NAME_CHARS - 9)}-${digest}`
}

/** @param copied Which labels of the ClusterDeployment its Device gets: keys, or prefixes that end in a slash. */
export const labelsOf = (
  { metadata: { namespace = '', labels = {} }, spec }: ClusterDeployment,
  copied: readonly string[],
): Readonly<Record<string, string>> => {
  const isCopied = (key: string) => copied.some((one) => (one.endsWith('/') ? key.startsWith(one) : key === one))
  const pool = spec.clusterPoolRef?.poolName
  return {
    ...Object.fromEntries(Object.entries(labels).filter(([key]) => isCopied(key))),
    [NAMESPACE_LABEL]: namespace,
    ...(pool !== undefined && pool.length <= MAX_NAME_CHARS && { [POOL_LABEL]: pool }),
  }
}

/** What is told of it beside its labels. */
export const inventoryOf = ({ metadata, spec }: ClusterDeployment): Readonly<Record<string, string>> => ({
  [CLUSTER_FIELD]: `${metadata.namespace}/${metadata.name}`,
  clusterName: spec.clusterName,
  baseDomain: spec.baseDomain,
})
