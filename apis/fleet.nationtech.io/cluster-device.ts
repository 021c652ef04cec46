/** How a device of the fleet that is a cluster names its ClusterDeployment. */

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
