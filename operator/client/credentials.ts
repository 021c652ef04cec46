import { isDeepStrictEqual } from 'node:util'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { type Clock, monotonic } from '../model/clock.ts'
import { KubeConfigError } from './kubeconfig.ts'

/** What TLS needs to trust the server and to be trusted by it. */
export interface TlsMaterial {
  readonly ca?: Buffer | string
  readonly cert?: Buffer | string
  readonly key?: Buffer | string
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

export interface Credentials {
  /** Authorization and impersonation. */
  readonly headers: Readonly<Record<string, string>>
  /** The same object as long as nothing in it changed, so that connections can be kept by identity. */
  readonly tls: TlsMaterial
}

export interface CredentialSource {
  /** The credentials for a request made now. Files and exec plugins are asked again every 10 s at most. @throws KubeConfigError */
  current(): Promise<Credentials>
  /** The server answered 401 to these: is there a reason to ask again? Drops what was cached, every 10 s at most. */
  refresh(rejected: Credentials): boolean
}

/** Bound ServiceAccount tokens and certificates are rotated minutes before they expire, so this is early enough. */
const REREAD_AFTER_MS = 10_000

/** Credentials of the current context of a kubeconfig, always fresh: tokens, CA and certificates may change while we run. */
export const credentialsOf = (config: KubeConfig, clock: Clock): CredentialSource => {
  let reader = readerOf(config)
  let refreshedAt = Number.NEGATIVE_INFINITY
  let latest: { readonly reading: Promise<Credentials>; readonly readAt: number } | undefined
  let known: Credentials | undefined
  let tls: TlsMaterial = {}

  const read = async (): Promise<Credentials> => {
    const options: RequestOptions = {}
    try {
      await reader.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0])
    } catch (error) {
      latest = undefined
      const user = JSON.stringify(config.getCurrentUser()?.name)
      throw new KubeConfigError(
        `credentials of user ${user} cannot be read: ${(error as Error).message.trim()}; correct the user in the kubeconfig, or log in again`,
        { cause: error },
      )
    }
    const material = tlsOf(options)
    if (!isDeepStrictEqual(material, tls)) tls = material
    known = { headers: headersOf(options), tls }
    return known
  }

  return {
    current() {
      const now = monotonic(clock)
      if (latest === undefined || now - latest.readAt >= REREAD_AFTER_MS) latest = { reading: read(), readAt: now }
      return latest.reading
    },
    refresh(rejected) {
      if (rejected !== known) return true
      const now = monotonic(clock)
      if (now - refreshedAt < REREAD_AFTER_MS) return false
      reader = readerOf(config)
      refreshedAt = now
      latest = undefined
      return true
    },
  }
}

/** What KubeConfig fills in; a part of `https.RequestOptions`. */
interface RequestOptions extends TlsMaterial {
  headers?: Record<string, string>
  /** `user:password` */
  auth?: string
}

/**
 * A copy that has cached no token yet. Its cluster is marked so that KubeConfig does not refuse `http://`, which test
 * proxies and `kubectl proxy` speak, and its user is never missing, because KubeConfig ignores the CA without one.
 */
const readerOf = (config: KubeConfig): KubeConfig => {
  const cluster = config.getCurrentCluster()
  const user = config.getCurrentUser() ?? { name: 'anonymous' }
  const reader = new KubeConfig()
  if (cluster === null) throw new KubeConfigError('the kubeconfig has no current cluster: set its current-context')
  const { proxyUrl: _, ...direct } = cluster
  reader.loadFromClusterAndUser(
    { ...direct, skipTLSVerify: cluster.skipTLSVerify || cluster.server.startsWith('http:') },
    user,
  )
  return reader
}

const headersOf = ({ headers = {}, auth }: RequestOptions): Record<string, string> =>
  auth === undefined ? headers : { ...headers, Authorization: `Basic ${Buffer.from(auth).toString('base64')}` }

const tlsOf = ({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsMaterial => ({
  ...(ca === undefined ? {} : { ca }),
  ...(cert === undefined ? {} : { cert }),
  ...(key === undefined ? {} : { key }),
  ...(servername === undefined ? {} : { servername }),
  ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
})
