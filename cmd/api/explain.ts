import type { Binding } from '#operator/binding.ts'
import { ConfigError } from '#services/hyperfleet-api/config/config-error.ts'
import { BrokerError } from '#services/hyperfleet-api/events/jetstream/broker-error.ts'
import { ApiOptionsError } from '#services/hyperfleet-api/options.ts'
import { SpecSchemaError } from '#services/hyperfleet-api/specs/schemas.ts'
import { ForeignLayoutError } from '#services/hyperfleet-api/storage/layout/foreign-layout.ts'
import { LayoutError } from '#services/hyperfleet-api/storage/layout/migrate.ts'
import { TakeoverError } from '#services/hyperfleet-api/takeover/takeover-error.ts'
import { Failure, UsageError } from '../failure.ts'
import { spelled } from '../flag.ts'
import type { ApiOptions } from './command.ts'

/** Node's and PostgreSQL's errors carry a code; Node's for a port also the port. */
interface Coded {
  readonly code: string
  readonly port?: number
}

const codedOf = (error: unknown): Coded | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? (error as Error & Coded) : undefined

/** Why the database can't be used. PostgreSQL: Appendix A, error codes. */
const DATABASE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start PostgreSQL or correct the host and port',
  ENOTFOUND: 'the host name is not known: correct it',
  ETIMEDOUT: 'it does not answer: correct the host, or the network on the way to it',
  '28P01': 'it refuses the password: correct the user name and password',
  '28000': 'it refuses the user: correct the user name, or let it in with pg_hba.conf',
  '3D000': 'it has no such database: create it, or name another one',
  '42501': 'the user may not create tables in it: grant CREATE on its schema',
}

const FILE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder, name a file',
  EACCES: 'may not be read by this user',
}

/** Why a file that a flag names can't be read; what is not known here is given back as it is. */
export const explainFile = (flag: string, file: string, error: unknown): unknown => {
  const why = FILE[codedOf(error)?.code ?? '']
  return why === undefined ? error : new Failure(`${flag}: ${file} ${why}`, { cause: error })
}

/** Why the PostgreSQL that a flag names can't be used; what is not known here is given back as it is. */
export const explainDatabase = (flag: string, url: string, error: unknown): unknown => {
  const isOurs = error instanceof ForeignLayoutError || error instanceof LayoutError || error instanceof TakeoverError
  const why = isOurs ? error.message : DATABASE[codedOf(error)?.code ?? '']
  return why === undefined
    ? error
    : new Failure(`${flag}: the database ${placeOf(url)} can't be used: ${why}`, { cause: error })
}

const DATA_DIR = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST']

/** The reason that the API can't begin to serve, in the words of its flags; what is not known here is given back as it is. */
export const explain = (error: unknown, options: ApiOptions): unknown => {
  if (error instanceof ConfigError)
    return new UsageError(`--config: ${options.config}: ${error.message}`, { cause: error })
  if (error instanceof SpecSchemaError) return new Failure(`--openapi-schema-path: ${error.message}`, { cause: error })
  if (error instanceof ApiOptionsError) return new UsageError(optionsReason(error, options), { cause: error })
  if (error instanceof ForeignLayoutError && options.databaseUrl !== undefined)
    return explainDatabase('--database-url', options.databaseUrl, error)
  if (error instanceof LayoutError || error instanceof TakeoverError) {
    const place =
      options.databaseUrl === undefined
        ? `--data-dir: the database in ${options.dataDir}`
        : `--database-url: the database ${placeOf(options.databaseUrl)}`
    return new Failure(`${place} can't be used: ${error.message}`, { cause: error })
  }
  if (error instanceof BrokerError) return new Failure(`--nats-url: ${error.message}`, { cause: error })
  const coded = codedOf(error)
  if (coded === undefined) return error
  if (coded.code === 'EADDRINUSE' || coded.code === 'EADDRNOTAVAIL') {
    const why = coded.code === 'EADDRINUSE' ? 'is taken by another process' : 'is not an address of this machine'
    return new Failure(`${flagOf(coded.port, options)}: port ${coded.port} ${why}: choose another`, { cause: error })
  }
  if (options.databaseUrl !== undefined && DATABASE[coded.code] !== undefined)
    return explainDatabase('--database-url', options.databaseUrl, error)
  if (options.databaseUrl === undefined && DATA_DIR.includes(coded.code))
    return new Failure(
      `--data-dir: ${options.dataDir} can't be written (${coded.code}): name a folder that we may write to`,
      {
        cause: error,
      },
    )
  return error
}

const optionsReason = ({ option, message }: ApiOptionsError, options: ApiOptions): string => {
  switch (option) {
    case 'listen':
      return `--bind-address: ${message}: ${AGAINST_STRANGERS}`
    case 'issuers':
      return `${issuersFlag(options)}: ${message}`
    case 'tenants':
      return `--config: ${options.config}: ${message}`
    case 'tls':
      return `--tls-cert-file: ${message}`
  }
}

const issuersFlag = ({ authKubernetes, authIssuer, config }: ApiOptions): string => {
  if (authKubernetes) return '--auth-kubernetes'
  return authIssuer === undefined && config !== undefined ? `--config: ${config}: server.jwt` : '--auth-issuer'
}

const AGAINST_STRANGERS =
  'name an issuer of tokens (--auth-issuer, --auth-kubernetes), listen on 127.0.0.1, or allow unauthenticated callers ' +
  'on purpose (--allow-unauthenticated)'

const flagOf = (port: number | undefined, options: ApiOptions): string => {
  const addresses: Record<string, Binding | undefined> = {
    bindAddress: options.bindAddress,
    httpBindAddress: options.httpBindAddress,
    metricsBindAddress: options.metricsBindAddress,
    healthProbeBindAddress: options.healthProbeBindAddress,
  }
  return spelled(Object.keys(addresses).find((name) => addresses[name]?.port === port) ?? 'bindAddress')
}

/** Host and database without user and password. */
const placeOf = (url: string): string => {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
