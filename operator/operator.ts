import type { Registry } from 'prom-client'
import type { Api } from './client/api.ts'
import type { Transport } from './client/transport.ts'
import type { AnyController } from './controller.ts'
import type { Handler } from './engine/context.ts'
import type { OperatorSettings, SettingsInput } from './engine/settings.ts'
import type { Clock } from './model/clock.ts'
import type { Logger } from './model/log.ts'
import type { Resource } from './model/resource.ts'

/** Why objects of a kind can't be read at the moment. The operator keeps trying and is not ready meanwhile. */
export interface SourceProblem {
  readonly resource: Resource
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined
  /** NotInstalled: the API server doesn't know the kind. Forbidden: RBAC refuses. Unreachable: anything else. */
  readonly reason: 'NotInstalled' | 'Forbidden' | 'Unreachable'
  readonly message: string
}

export interface OperatorStatus {
  /** Every cache was filled once. */
  readonly synced: boolean
  /** Undefined without election. */
  readonly leading: boolean | undefined
  readonly problems: readonly SourceProblem[]
}

export interface OperatorOptions {
  readonly controllers: readonly AnyController[]
  readonly settings?: SettingsInput
  /** Watch only these; default: all. Cluster-scoped kinds are watched in any case. */
  readonly namespaces?: readonly string[]
  /** Before anything is watched; an error ends `start`. */
  readonly onStartup?: Handler<{ readonly api: Api; readonly log: Logger }>
  /** After everything has stopped. */
  readonly onCleanup?: Handler<{ readonly api: Api; readonly log: Logger }>
  /** Default: the kubeconfig of the environment. The operator closes only a transport that it made itself. */
  readonly transport?: Transport
  readonly clock?: Clock
  /** Default: JSON lines on stderr. */
  readonly log?: Logger
  /** Where metrics are registered. Default: nowhere. */
  readonly registry?: Registry
  /** Of this process, for leases. Default: `<host name>_<random>`. */
  readonly identity?: string
  /** In [0, 1), for jitter. Default: Math.random. */
  readonly random?: () => number
  /** How to mend a problem, in the words of whoever runs this; appended to the log line. */
  readonly mend?: (problem: SourceProblem) => string | undefined
}

export interface Operator {
  /** Runs until `stop` or the signal; resolves when nothing is left running. @throws what onStartup throws */
  start(signal?: AbortSignal): Promise<void>
  /** Resolves within 2 s when nothing is left running: no watch, timer, lease or handler that heeds its signal. */
  stop(): Promise<void>
  /** Resolves when all caches are filled and, without election, handlers run. Never rejects. */
  readonly ready: Promise<void>
  status(): OperatorStatus
}

export type { OperatorSettings }

export const operator = (_options: OperatorOptions): Operator => {
  throw new Error('not built yet')
}
