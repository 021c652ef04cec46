/** How the API server refused clusters of a pool. */

/** It did not take the ClusterDeployment that a customization gave. */
export interface CustomizationRejection {
  /** Of the customization: another one may be taken. */
  readonly version: string
  /** What the API server said. */
  readonly message: string
}

/** A cluster whose making failed half-way: what it needs was denied. */
export interface CreationFailure {
  /** `namespace/name`. */
  readonly cluster: string
  /** Of the customization; empty when there is none. */
  readonly version: string
  /** What the API server said. */
  readonly message: string
  /** The first time that it failed, in milliseconds since the epoch; undefined when not even its lease could be taken. */
  readonly firstAt: number | undefined
  /** How many clusters in a row failed like this. */
  readonly count: number
}

/** It did not take the ClusterDeployment of a pool without inventory. */
export interface PoolRejection extends CustomizationRejection {
  /** Of the customization for all clusters; empty when there is none. */
  readonly version: string
  /** How often in a row. */
  readonly count: number
  /** When it is asked again, in milliseconds since the epoch. */
  readonly until: number
  /** The uids of the pool's clusters at that time: when there is another one, clusters are taken again. */
  readonly clusters: ReadonlySet<string>
}
