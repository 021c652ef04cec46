/**
 * What an account of nats-server may take of it, so that a key in wrong hands, or a program that repeats itself, leaves the others their
 * room. Far above what is measured (docs/sizing.md): 10,000 devices, some streams, a connection of each task. NATS-17.
 */

/** Of one account. */
export interface Quota {
  /** As nats-server writes bytes, such as 512Mi; no limit but the server's when undefined. */
  readonly storage?: string | undefined
  readonly streams: number
  /** Of one stream. */
  readonly consumers: number
  readonly connections: number
}

export const QUOTAS = {
  /** A stream of events and one of dead letters; a consumer and a connection for each task. */
  API: { streams: 16, consumers: 5_000, connections: 5_000 },
  /** A bucket of each kind; a consumer for each device; the operators and people. */
  FLEET: { streams: 16, consumers: 50_000, connections: 500 },
} as const satisfies Readonly<Record<string, Quota>>

/** Three connections of each of 10,000 devices and more, and a quarter of nats-server's own limit of 65,536 left for the other accounts. */
export const MAX_DEVICE_CONNECTIONS = 49_152

/** The lines of an account's configuration. Nothing of Muster's is kept in memory. */
export const quotaLines = ({ storage, streams, consumers, connections }: Quota): string =>
  `jetstream: { ${storage === undefined ? '' : `max_file: ${storage}, `}max_mem: 0, max_streams: ${streams}, max_consumers: ${consumers} }
    limits: { max_connections: ${connections} }`
