import type { Registry } from 'prom-client'
import type { Clock } from '#operator/model/clock.ts'

export interface ClusterDeploymentOptions {
  readonly clock: Clock
  /** Where the metrics are registered. */
  readonly registry: Registry
  /** Of this program. */
  readonly version: string
  /** Of the HyperFleet API, without a path. */
  readonly hyperfleetApiUrl: string
  /** File with the bearer token for it, read for every request. */
  readonly hyperfleetApiTokenFile?: string | undefined
  /** File with the authorities that it is known by, PEM; those of the machine when left out. */
  readonly hyperfleetApiCa?: string | undefined
  /** Of the Kubernetes clusters that this one was restored from: what they registered is this one's. */
  readonly formerKubernetesUids?: readonly string[]
}
