import Type, { type Static } from 'typebox'
import { Entities } from './entities.ts'
import { Server } from './server.ts'

/**
 * The configuration file: what a flag can't say, in the Go service's form, so that its file serves here too. One file beside
 * this one a section; a new section is a schema there and a line here.
 */
export const ConfigFile = Type.Object(
  {
    entities: Type.Optional(Entities),
    server: Type.Optional(Server),
  },
  { additionalProperties: false },
)

export type ApiConfig = Static<typeof ConfigFile>

/** Keys of the Go service's file that are said elsewhere here, and where. Why: docs/decisions/api-config.md. */
export const SET_ELSEWHERE: Readonly<Record<string, string>> = {
  'server.host': 'write --bind-address=127.0.0.1:8000',
  'server.port': 'write --bind-address=127.0.0.1:8000',
  'server.hostname': 'hrefs are paths here, without a host',
  'server.timeouts': 'times are fixed here: 30 s to send a request',
  'server.tls': 'write --tls-cert-file=FILE and --tls-key-file=FILE',
  database: 'write --database-url=postgres://user:password@host/database',
  logging: 'write --log-level and --log-format',
  metrics: 'write --metrics-bind-address=:9090',
  health: 'write --health-probe-bind-address=:8080',
  adapters: 'write required_adapters in each of entities',
}
