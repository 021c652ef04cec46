/** How a device of the fleet that is a cluster names its ClusterDeployment, and is named after it. AGENT-24. Pure. */
import { createHash } from 'node:crypto'

interface Named {
  readonly name: string
  readonly namespace?: string
}

/** The field of its inventory: `<namespace>/<name>`. Kubernetes has one object of a name, so what was of an earlier one is of this one. */
export const CLUSTER_FIELD = 'clusterDeployment'

type Inventory = Readonly<Record<string, string>> | undefined

/** The ClusterDeployment that a device is; undefined for one that is a machine, or says nothing of it. */
export const clusterOfDevice = (inventory: Inventory): Required<Named> | undefined => {
  const [namespace = '', name = '', ...more] = (inventory?.[CLUSTER_FIELD] ?? '').split('/')
  return namespace === '' || name === '' || more.length > 0 ? undefined : { namespace, name }
}

export const isDeviceOf = (inventory: Inventory, { namespace, name }: Named): boolean =>
  inventory?.[CLUSTER_FIELD] === `${namespace}/${name}`

/** Labels of every such device: where it comes from. */
const CLUSTER_NAMESPACE_LABEL = 'fleet.nationtech.io/cluster-namespace'
const CLUSTER_POOL_LABEL = 'fleet.nationtech.io/cluster-pool'

/** A label's value, and a part of a key in NATS, has at most so many characters. */
const MAX_NAME_CHARS = 63

/**
 * The name of a cluster's Device, a DNS-1123 label: its own where that is unique, as for clusters of pools, which have a namespace of
 * their name; else with a digest of both.
 */
export const clusterDeviceName = ({ namespace = '', name }: Named): string => {
  if (namespace === name && name.length <= MAX_NAME_CHARS) return name
  const digest = createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 8)
  return `${name.replaceAll('.', '-').slice(0, MAX_NAME_CHARS - 9)}-${digest}`
}

/** The labels of a cluster's Device that say where it comes from. */
export const clusterOriginLabels = (
  { namespace = '' }: Named,
  pool: string | undefined,
): Readonly<Record<string, string>> => ({
  [CLUSTER_NAMESPACE_LABEL]: namespace,
  ...(pool !== undefined && pool.length <= MAX_NAME_CHARS && { [CLUSTER_POOL_LABEL]: pool }),
})
