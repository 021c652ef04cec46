import { untilAborted } from '#lib/abort/until-aborted.ts'
import { createLogger } from '#lib/log/logger.ts'
import { collectAfterStart } from '#lib/process/collect-garbage.ts'
import { logUnhandledRejections } from '#lib/process/unhandled-rejections.ts'
import type { Binding } from '#operator/binding.ts'
import { systemClock } from '#operator/model/clock.ts'
import type { IssuerSettings } from '#services/hyperfleet-api/auth/issuer.ts'
import type { TenantRules } from '#services/hyperfleet-api/auth/tenancy.ts'
import { ConfigError } from '#services/hyperfleet-api/config/config-error.ts'
import type { ApiConfig } from '#services/hyperfleet-api/config/file.ts'
import { parseIssuers as configuredIssuers } from '#services/hyperfleet-api/config/jwt.ts'
import { readConfig } from '#services/hyperfleet-api/config/read.ts'
import { parseTenantRules } from '#services/hyperfleet-api/config/tenant.ts'
import type { TlsFiles } from '#services/hyperfleet-api/http/tls-certificate.ts'
import { start } from '#services/hyperfleet-api/start.ts'
import { buildInfo } from '../build-info.ts'
import { UsageError } from '../failure.ts'
import { stopOnSignals } from '../signals.ts'
import { issuersOf } from './auth-flags.ts'
import type { ApiOptions } from './command.ts'
import { explain, explainFile } from './explain.ts'

/** Then a start has done what it does once: its first lists, its keys, its statements. */
const START_ENDS_MS = 5000

/** Serves the HyperFleet API until a signal stops it. @throws Failure, UsageError when it can't begin to serve */
export const runApi = async (options: ApiOptions): Promise<void> => {
  const signal = stopOnSignals()
  const log = createLogger(options).child({ component: 'api' })
  logUnhandledRejections(log)
  const { bindAddress, metricsBindAddress, healthProbeBindAddress, config: file, openapiSchemaPath, ...rest } = options
  const { rateLimit, maxInFlight, maxStreams } = options
  if (bindAddress === undefined) throw new UsageError('--bind-address: the API has to listen somewhere: write :8000')
  const config: Configured = file === undefined ? { issuers: [], tenants: undefined } : await configOf(file)
  const api = await start({
    ...rest,
    entities: config.entities,
    openapiSchemaPath: openapiSchemaPath ?? config.server?.openapi_schema_path,
    listen: bindAddress,
    health: healthProbeBindAddress,
    metrics: metricsBindAddress,
    issuers: [...issuersOf(options), ...config.issuers],
    tenants: config.tenants,
    tls: tlsOf(options),
    plain: plainOf(options),
    otlpEndpoint: options.otlpEndpoint ?? process.env.OTEL_EXPORTER_OTLP_ENDPOINT,
    // A caller that rested may send two seconds' worth at once.
    rateLimit: rateLimit === 0 ? undefined : { rate: rateLimit, burst: 2 * rateLimit },
    inFlight: maxInFlight === 0 ? undefined : { total: maxInFlight, perCaller: Math.ceil(maxInFlight / 4) },
    maxStreams: maxStreams === 0 ? undefined : maxStreams,
    build: buildInfo(),
    log,
    clock: systemClock,
  }).catch((error: unknown) => {
    throw explain(error, options)
  })
  collectAfterStart(START_ENDS_MS)
  await untilAborted(signal)
  await api.stop()
  log.info('stopped', { signal: signal.reason })
}

/** What the configuration file says. */
interface Configured extends ApiConfig {
  readonly issuers: readonly IssuerSettings[]
  readonly tenants: TenantRules | undefined
}

/** @throws Failure, UsageError */
const configOf = async (file: string): Promise<Configured> => {
  try {
    const config = await readConfig(file)
    const { jwt, tenant } = config.server ?? {}
    return { ...config, issuers: jwt ? configuredIssuers(jwt) : [], tenants: tenant && parseTenantRules(tenant) }
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(`--config: ${file}: ${error.message}`, { cause: error })
    throw explainFile('--config', file, error)
  }
}

/** @throws UsageError without HTTPS, which it is beside, or where clients must show a certificate */
const plainOf = ({ httpBindAddress, tlsCertFile, clientCaFile }: ApiOptions): Binding | undefined => {
  if (httpBindAddress === undefined) return undefined
  if (tlsCertFile === undefined)
    throw new UsageError('--http-bind-address: without --tls-cert-file --bind-address is HTTP already: leave it out')
  if (clientCaFile !== undefined)
    throw new UsageError(
      '--http-bind-address: there no client shows a certificate of --client-ca-file: leave one of the two out',
    )
  return httpBindAddress
}

/** @throws UsageError when one of the two files is missing */
const tlsOf = ({ tlsCertFile, tlsKeyFile, clientCaFile }: ApiOptions): TlsFiles | undefined => {
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined)
    return { certFile: tlsCertFile, keyFile: tlsKeyFile, clientCaFile }
  if (tlsCertFile !== undefined) throw new UsageError('--tls-cert-file: it needs --tls-key-file')
  if (tlsKeyFile !== undefined) throw new UsageError('--tls-key-file: it needs --tls-cert-file')
  if (clientCaFile !== undefined) throw new UsageError('--client-ca-file: it needs --tls-cert-file and --tls-key-file')
  return undefined
}
