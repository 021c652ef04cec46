import { Command } from 'commander'
import { type Flag, flag, optional, toggle, type Values, weakening } from '#operator/flags/flag.ts'
import { count, duration, listenAddress, nonEmpty, urlOf } from '#operator/flags/values.ts'
import { addFlags, readFlags } from '../flag.ts'
import { logFlags } from '../log-flags.ts'
import { natsFileFlags } from '../nats-flags.ts'
import { authFlags } from './auth-flags.ts'

/** A limit that 0 takes away. @param of what it is one */
const limit = (of: string, own: Flag<number>): Flag<number> =>
  weakening(own, (value) =>
    value === 0
      ? {
          what: `nothing limits ${of}`,
          todo: `leave the flag out, which then means ${own.default}, or write a number`,
        }
      : undefined,
  )

/** The ports differ from the manager's, so that both run side by side on one machine. */
export const apiFlags = {
  bindAddress: flag('ADDRESS', 'where the API is served', listenAddress, '127.0.0.1:8000'),
  allowUnauthenticated: weakening(toggle('serve other machines too, although callers are not authenticated'), (isOn) =>
    isOn ? { what: 'callers without a token are served', todo: 'take it out, and add --auth-kubernetes' } : undefined,
  ),
  metricsBindAddress: flag('ADDRESS', 'where /metrics is served; 0 for nowhere', listenAddress, ':8090'),
  healthProbeBindAddress: flag(
    'ADDRESS',
    'where /healthz and /readyz are served; 0 for nowhere',
    listenAddress,
    ':8091',
  ),
  dataDir: flag(
    'DIRECTORY',
    'where the embedded database lives when there is no --database-url',
    nonEmpty,
    './muster-data',
  ),
  databaseUrl: optional(
    'URL',
    'PostgreSQL to use, such as postgres://user:password@host/database',
    urlOf('postgres', 'postgresql'),
  ),
  config: optional('FILE', 'configuration file, YAML or JSON: the kinds that are served (docs/api-kinds.md)', nonEmpty),
  openapiSchemaPath: optional(
    'FILE',
    'OpenAPI or JSON Schema file with the schemas of specs; before server.openapi_schema_path of the configuration file',
    nonEmpty,
  ),
  archiveRetention: flag('DURATION', 'how long removed resources stay in the archive; 0s for ever', duration, '720h'),
  stuckAfter: flag(
    'DURATION',
    'how long a resource may wait for adapters before metrics call it stuck',
    duration,
    '10m',
  ),
  natsUrl: optional('URL', 'NATS server whose JetStream delivers events to consumer groups', urlOf('nats', 'tls')),
  ...natsFileFlags('the API'),
  ...authFlags,
  tlsCertFile: optional('FILE', 'serve HTTPS with this certificate (PEM), read again when it changes', nonEmpty),
  tlsKeyFile: optional('FILE', 'the key of --tls-cert-file (PEM)', nonEmpty),
  httpBindAddress: flag(
    'ADDRESS',
    'where the API is served over HTTP as well, beside the HTTPS of --tls-cert-file: for clients that speak no TLS yet; 0 for nowhere',
    listenAddress,
    '0',
  ),
  clientCaFile: optional(
    'FILE',
    'let only clients connect that have a certificate of these authorities (PEM)',
    nonEmpty,
  ),
  rateLimit: limit(
    'the requests a second of one caller',
    flag('NUMBER', 'requests a second of one caller with a token; 0 for any number', count, '1000'),
  ),
  maxInFlight: limit(
    'the requests under way at once',
    flag(
      'NUMBER',
      'requests under way at once; of these one caller with a token has a quarter at most, and its equal share once all are taken; 0 for any number',
      count,
      '400',
    ),
  ),
  maxStreams: limit(
    'the open streams of one caller',
    flag(
      'NUMBER',
      'open streams (watches, whole lists) of one caller, known by its token or else its address; 0 for any number',
      count,
      '100',
    ),
  ),
  shutdownDelay: flag(
    'DURATION',
    'how long to go on serving, no longer ready, when asked to stop: until load balancers know',
    duration,
    '0s',
  ),
  otlpEndpoint: optional(
    'URL',
    'OpenTelemetry collector to send spans to, such as http://collector:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT)',
    urlOf('http', 'https'),
  ),
  ...logFlags,
}

export type ApiOptions = Values<typeof apiFlags>

const EXAMPLES = `
Examples:
  muster api --data-dir=/var/lib/muster               with the embedded database
  muster api --bind-address=:8000 --auth-kubernetes --auth-roles=system:serviceaccount:tools:deployer=editor
  MUSTER_DATABASE_URL=postgres://muster@db/muster muster api --nats-url=nats://nats:4222
`

export const apiCommand = (): Command =>
  addFlags(new Command('api'), apiFlags)
    .description('serve the HyperFleet API')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const options = readFlags(command, apiFlags)
      const { runApi } = await import('./run.ts')
      await runApi(options)
    })
