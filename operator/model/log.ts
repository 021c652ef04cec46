import type { Logger } from '#lib/log/logger.ts'

export type { Logger }

/** Writes nothing: for work whose result says all, and for servers in tests. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }
