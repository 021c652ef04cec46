import type { Registry } from 'prom-client'
import type { Clock } from '#operator/model/clock.ts'
import type { NatsFiles } from './events/nats-allowlist.ts'
import type { RunHistory } from './runs/run-history.ts'

export interface AdapterOptions {
  readonly clock: Clock
  /** Where the adapters' metrics are registered. */
  readonly registry: Registry
  /** Of this program. */
  readonly version: string
  /** Environment variables, folders and files that tasks may read. Nothing else of the manager is visible to them. */
  readonly variables?: readonly string[]
  readonly files?: readonly string[]
  /** Prefixes of the URLs that resources of HTTP services may lead to; none when left out. */
  readonly httpTargets?: readonly string[]
  /** URLs of the NATS servers that events of tasks may come from; none when left out. */
  readonly natsServers?: readonly string[]
  /** Files with what those servers are shown, and with the authorities that they are known by. */
  readonly natsFiles?: NatsFiles
  /** The HyperFleet API of the manager, which needs no such prefix, and the only one that gets its token. */
  readonly hyperfleetApiUrl?: string | undefined
  /** File with the bearer token for that API, read for every request; tasks can't read it. */
  readonly hyperfleetApiTokenFile?: string | undefined
  /** File with the authorities that it is known by, PEM; those of the machine when left out. */
  readonly hyperfleetApiCa?: string | undefined
  /** Adapters that that API requires and that no task of this manager does. */
  readonly elsewhere?: readonly string[]
  /** Of the ServiceAccounts that tasks act as; that of each task when left out. */
  readonly accountsNamespace?: string | undefined
  /** Tasks show that API tokens of their own ServiceAccounts, meant for this audience; that of the file when left out. */
  readonly tokenAudience?: string | undefined
  /** Where runs are noted for others to read; only for the tasks' own status when left out. */
  readonly history?: RunHistory
  /** Refuse tasks that can't be run, by admission. */
  readonly denyInvalid?: boolean
}
