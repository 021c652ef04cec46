import type { Registry } from 'prom-client'
import type { Clock } from '#operator/index.ts'
import type { PreflightSettings } from './execute/probe-api-name.ts'
import type { PodNetwork } from './model/pod-network.ts'
import type { PodSecurityLevel } from './model/pod-security.ts'

export interface ClusterPoolOptions {
  readonly clock: Clock
  /** Where the pools' metrics are registered. */
  readonly registry: Registry
  /** A few random characters for the name of a cluster, others at every call. Default: random ones. */
  readonly suffix?: () => string
  /** Where clusters are looked for before their customizations are leased; as the system has it when absent. */
  readonly preflight?: PreflightSettings
  /** What the namespaces of clusters ask of pods; `restricted` when absent. */
  readonly podSecurity?: PodSecurityLevel
  /** Which ways of the network those pods have; `closed` when absent. */
  readonly podNetwork?: PodNetwork
}
