/** What the runtime and controllers need of a logger; `cmd/log.ts` makes one. Fields, not text, carry the values. */
export interface Logger {
  debug(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
  /** A logger whose every line also carries these fields. */
  child(fields: object): Logger
}

/** Writes nothing: for work whose result says all, and for servers in tests. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }
