/**
 * The certificate that the HyperFleet API serves HTTPS with, which all its replicas share. The API itself has no rights in Kubernetes, and
 * so makes none: it mounts what is kept here. API-178.
 *
 *   Secret     hyperfleet-api-authority  the authorities, with their keys: for muster nats alone
 *   Secret     hyperfleet-api-tls        tls.crt, tls.key: for the pods of the API
 *   ConfigMap  hyperfleet-api-ca         ca.crt: what clients know the API by
 */
import { ensureAuthorities, SECRETS, type Secret } from '#operator/admission/ca-secret.ts'
import { type KeyPair, signerOf, signLeaf } from '#operator/admission/certificates.ts'
import type { Api } from '#operator/client/api.ts'
import { isAlreadyExists, isConflict } from '#operator/index.ts'
import { Failure } from '../failure.ts'
import { LABELS, publishAuthorities } from './objects.ts'
import { isGoodFor } from './server-files.ts'

const AUTHORITY = 'hyperfleet-api-authority'
const TLS = 'hyperfleet-api-tls'
const CA = 'hyperfleet-api-ca'

const DAY_MS = 24 * 3_600_000
/** Replaced after two thirds of it: for ten days the API goes on when nothing keeps its certificate. */
const LEAF_LIFETIME_MS = 30 * DAY_MS
/** How long a new authority is published before it signs. Kubelets bring a ConfigMap to its pods within minutes. */
const DISTRIBUTION_MS = DAY_MS

/**
 * Keeps all three, for any number of callers at once: what another one wrote meanwhile is read again, not written over.
 * @param hosts names and addresses that clients reach the API by
 * @returns whether there is a new certificate
 * @throws ApiError, NetworkError
 */
export const keepApiCertificate = async (
  api: Api,
  namespace: string,
  hosts: readonly string[],
  now: number,
): Promise<boolean> => {
  for (;;) {
    try {
      const authorities = await ensureAuthorities(api, { name: AUTHORITY, namespace }, now)
      await publishAuthorities(api, { name: CA, namespace }, authorities)
      return await keepLeaf(api, namespace, { authorities, hosts, now })
    } catch (error) {
      if (!isAlreadyExists(error) && !isConflict(error)) throw error
    }
  }
}

interface LeafInputs {
  readonly authorities: readonly KeyPair[]
  readonly hosts: readonly string[]
  readonly now: number
}

const keepLeaf = async (api: Api, namespace: string, { authorities, hosts, now }: LeafInputs): Promise<boolean> => {
  const secret = await api.get(SECRETS, TLS, namespace)
  const present = pairOf(secret)
  if (present !== undefined && (await isGoodFor(present, authorities, hosts, now))) return false
  const signer = signerOf(authorities, now, DISTRIBUTION_MS)
  if (signer === undefined) throw new Failure('there is no authority to sign the certificate of the HyperFleet API')
  const { certificate, key } = await signLeaf(signer, hosts, now, { lifetimeMs: LEAF_LIFETIME_MS })
  const data = { 'tls.crt': encode(certificate), 'tls.key': encode(key) }
  if (secret === undefined)
    await api.create(SECRETS, { metadata: { name: TLS, namespace, labels: LABELS }, type: 'kubernetes.io/tls', data })
  else await api.replace(SECRETS, { ...secret, data })
  return true
}

const pairOf = (secret: Secret | undefined): KeyPair | undefined => {
  const [certificate, key] = [secret?.data?.['tls.crt'], secret?.data?.['tls.key']]
  return certificate === undefined || key === undefined
    ? undefined
    : { certificate: decode(certificate), key: decode(key) }
}

const encode = (text: string): string => Buffer.from(text).toString('base64')
const decode = (base64: string): string => Buffer.from(base64, 'base64').toString()
