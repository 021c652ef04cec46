/** Values of `sslmode`, or `ssl`, with which the driver speaks TLS. node-postgres: pg-connection-string. */
const WITH_TLS: ReadonlySet<string> = new Set([
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
  'no-verify',
  'true',
  '1',
])

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/

/**
 * The host to which a connection to PostgreSQL goes over the network without TLS; undefined when it is encrypted, or does not leave this machine.
 * @param url `postgres://…`; what it leaves out is taken from the environment, as the driver does
 */
export const findPlainHost = (url: string, env: NodeJS.ProcessEnv = process.env): string | undefined => {
  const parsed = URL.parse(url)
  // The driver says what is wrong with it.
  if (parsed === null) return undefined
  const { hostname, searchParams } = parsed
  const host = searchParams.get('host') ?? (decodeURIComponent(hostname) || (env.PGHOST ?? ''))
  // A folder is one of sockets.
  if (host === '' || host.startsWith('/') || LOOPBACK.test(host)) return undefined
  const mode = searchParams.get('sslmode') ?? searchParams.get('ssl') ?? env.PGSSLMODE ?? 'disable'
  return WITH_TLS.has(mode) ? undefined : host
}
