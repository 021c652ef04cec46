/** What the observer sees of the suite at one moment. Its own reading of every object: none of the controllers' code. */

/** An object of Kubernetes as it is watched. */
export interface KubeSight {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly generation?: number
    readonly resourceVersion: string
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: unknown
  readonly status?: unknown
}

/** A ClusterDeployment, as far as the invariants go. */
export interface ClusterSight {
  readonly uid: string
  /** `<namespace>/<name>` */
  readonly name: string
  /** `<namespace>/<name>` of the customization that it leases. */
  readonly customization: string | undefined
  /** `<namespace>/<name>` of the claim that has it. */
  readonly claim: string | undefined
  readonly isDeleting: boolean
}

/** A cluster of the HyperFleet API. */
export interface RecordSight {
  readonly id: string
  readonly name: string
  readonly generation: number
  readonly isDeleting: boolean
  readonly phase: string
  /** `<namespace>/<name>` of the ClusterDeployment for which it was registered. */
  readonly registeredFor: string
}

/** An event as the observer's own consumer group got it. */
export interface PulseSight {
  readonly resource: string
  readonly generation: number
}

/** A generation of a cluster of the API, for which the Sentinel must ask; a deletion is a generation of its own. */
export interface ChangeSight {
  readonly resource: string
  readonly generation: number
  /** When the observer saw it first, in milliseconds since the epoch. */
  readonly at: number
}

interface PoolRef {
  readonly namespace: string
  readonly claimName?: string
  readonly clusterDeploymentCustomization?: { readonly name: string }
}

export const nameOf = ({ metadata: { namespace, name } }: KubeSight): string =>
  namespace === undefined ? name : `${namespace}/${name}`

export const clusterOf = (object: KubeSight): ClusterSight => {
  const ref = (object.spec as { readonly clusterPoolRef?: PoolRef }).clusterPoolRef
  const inPool = (name: string | undefined) => (name === undefined ? undefined : `${ref?.namespace}/${name}`)
  return {
    uid: object.metadata.uid,
    name: nameOf(object),
    customization: inPool(ref?.clusterDeploymentCustomization?.name),
    claim: inPool(ref?.claimName),
    isDeleting: object.metadata.deletionTimestamp !== undefined,
  }
}
