/**
 * What `muster nats` keeps in the cluster. None of it is declared: neither Git nor an overlay has it.
 *
 *   Secret     nats-authority   the authorities, with their keys: for muster nats alone
 *   Secret     nats-api         the seed of the HyperFleet API's key
 *   Secret     nats-fleet       the seed of the fleet operator's key
 *   Secret     fleet-signing    keys.pem: what signs entries for devices. For the fleet operator alone: NATS has nothing of it
 *   ConfigMap  fleet-signing    public.pem: what devices know that by, for people to bring there
 *   ConfigMap  nats-ca          ca.crt: what clients know the server by
 *   ConfigMap  nats-devices     public keys of devices by their names: people's, only read here
 *
 * What the HyperFleet API serves with: api-certificate.ts.
 */
import { createUser, fromSeed } from '@nats-io/nkeys'
import { newSigningKey, publicKeysOf, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { ConfigMap } from '#apis/kubernetes.ts'
import { ensureAuthorities, SECRETS, type Secret } from '#operator/admission/ca-secret.ts'
import { bundleOf, type KeyPair } from '#operator/admission/certificates.ts'
import type { Api } from '#operator/client/api.ts'
import { isAlreadyExists } from '#operator/index.ts'
import { Failure } from '../failure.ts'
import { ACCOUNTS, type AccountName, isPublicKey } from './users-config.ts'

const AUTHORITY = 'nats-authority'
const CA = 'nats-ca'
const DEVICES = 'nats-devices'
const SEED = 'seed'
const SIGNING = 'fleet-signing'
const SIGNING_KEYS = 'keys.pem'
const PUBLIC_KEYS = 'public.pem'

const DAY_MS = 24 * 3_600_000
/** Devices are told of an authority by people, so it lives long, and the next one is there long before the first certificate of it. */
const AUTHORITY_LIFETIME_MS = 3_650 * DAY_MS
export const AUTHORITY_DISTRIBUTION_MS = 90 * DAY_MS

export const LABELS = { 'app.kubernetes.io/part-of': 'muster', 'app.kubernetes.io/managed-by': 'muster-nats' }

/** The authorities, newest first, which clients can read by now. @throws ApiError, NetworkError */
export const keepAuthorities = async (api: Api, namespace: string, now: number): Promise<readonly KeyPair[]> => {
  const authorities = await ensureAuthorities(api, { name: AUTHORITY, namespace }, now, AUTHORITY_LIFETIME_MS)
  await publishAuthorities(api, { name: CA, namespace }, authorities)
  return authorities
}

/** Has clients read the authorities' certificates in the ConfigMap. @throws ApiError also when another one wrote it meanwhile, NetworkError */
export const publishAuthorities = async (
  api: Api,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  authorities: readonly KeyPair[],
): Promise<void> => {
  const data = { 'ca.crt': bundleOf(authorities) }
  const found = await api.get(ConfigMap, name, namespace)
  if (found === undefined) await api.create(ConfigMap, { metadata: { name, namespace, labels: LABELS }, data })
  else if (found.data?.['ca.crt'] !== data['ca.crt']) await api.replace(ConfigMap, { ...found, data })
}

/** The public keys of the accounts' users; a Secret that is not there is made. @throws ApiError, NetworkError, Failure */
export const keepUsers = async (api: Api, namespace: string): Promise<Readonly<Record<AccountName, string>>> => ({
  API: await keepUser(api, ACCOUNTS.API, namespace),
  FLEET: await keepUser(api, ACCOUNTS.FLEET, namespace),
})

const keepUser = async (api: Api, name: string, namespace: string): Promise<string> => {
  const { data } = await keepSecret(api, name, namespace, () => ({ [SEED]: createUser().getSeed() }))
  return publicKeyOf(name, data?.[SEED])
}

/** The Secret; made when it is not there. @param content of a new one @throws ApiError, NetworkError */
const keepSecret = async (
  api: Api,
  name: string,
  namespace: string,
  content: () => Readonly<Record<string, string | Uint8Array>>,
): Promise<Secret> => {
  for (;;) {
    const secret = await api.get(SECRETS, name, namespace)
    if (secret !== undefined) return secret
    const data = Object.fromEntries(
      Object.entries(content()).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    )
    try {
      await api.create(SECRETS, { metadata: { name, namespace, labels: LABELS }, type: 'Opaque', data })
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
  }
}

const publicKeyOf = (name: string, data: string | undefined): string => {
  try {
    const text = Buffer.from(data ?? '', 'base64')
      .toString()
      .trim()
    const key = fromSeed(new TextEncoder().encode(text)).getPublicKey()
    if (isPublicKey(key)) return key
    throw new Error('it is the seed of another kind of key')
  } catch (error) {
    throw new Failure(`the Secret ${name} holds no seed of a NATS user: delete it, and one is made`, { cause: error })
  }
}

/**
 * The keys that sign what devices run, and the ConfigMap with their public halves. A Secret that is not there is made; what people add to it
 * or take away is published. NATS-15.
 * @returns why devices may have to be told of other keys; undefined when they need not @throws ApiError, NetworkError, FleetKeyError
 */
export const keepSigningKeys = async (api: Api, namespace: string): Promise<string | undefined> => {
  const secret = await keepSecret(api, SIGNING, namespace, () => ({ [SIGNING_KEYS]: newSigningKey() }))
  const pem = Buffer.from(secret.data?.[SIGNING_KEYS] ?? '', 'base64').toString()
  const data = { [PUBLIC_KEYS]: publicKeysOf(readSigningKeys(pem)) }
  const found = await api.get(ConfigMap, SIGNING, namespace)
  if (found === undefined) await api.create(ConfigMap, { metadata: { name: SIGNING, namespace, labels: LABELS }, data })
  else if (found.data?.[PUBLIC_KEYS] !== data[PUBLIC_KEYS]) {
    await api.replace(ConfigMap, { ...found, data })
    return 'the keys that sign entries for devices are others than before: bring devices the public keys of the ConfigMap fleet-signing, or put the former Secret fleet-signing back. Until then they go on with what they have, and take nothing new'
  }
  return undefined
}

/** Public keys by the names of devices, as people wrote them. @throws ApiError, NetworkError */
export const readDeclaredDevices = async (api: Api, namespace: string): Promise<Readonly<Record<string, string>>> =>
  (await api.get(ConfigMap, DEVICES, namespace))?.data ?? {}
