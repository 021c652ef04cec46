/**
 * What `muster nats` keeps in the cluster. None of it is declared: neither Git nor an overlay has it.
 *
 *   Secret     nats-authority   the authorities, with their keys: for muster nats alone
 *   Secret     nats-api         the seed of the HyperFleet API's key
 *   Secret     nats-fleet       the seed of the fleet operator's key
 *   ConfigMap  nats-ca          ca.crt: what clients know the server by
 *   ConfigMap  nats-devices     public keys of devices by their names: people's, only read here
 */
import { createUser, fromSeed } from '@nats-io/nkeys'
import { ConfigMap } from '#apis/kubernetes.ts'
import { ensureAuthorities, SECRETS } from '#operator/admission/ca-secret.ts'
import { bundleOf, type KeyPair } from '#operator/admission/certificates.ts'
import type { Api } from '#operator/client/api.ts'
import { isAlreadyExists } from '#operator/index.ts'
import { Failure } from '../failure.ts'
import { ACCOUNTS, type AccountName, isPublicKey } from './users-config.ts'

const AUTHORITY = 'nats-authority'
const CA = 'nats-ca'
const DEVICES = 'nats-devices'
const SEED = 'seed'

const DAY_MS = 24 * 3_600_000
/** Devices are told of an authority by people, so it lives long, and the next one is there long before the first certificate of it. */
const AUTHORITY_LIFETIME_MS = 3_650 * DAY_MS
export const AUTHORITY_DISTRIBUTION_MS = 90 * DAY_MS

const LABELS = { 'app.kubernetes.io/part-of': 'muster', 'app.kubernetes.io/managed-by': 'muster-nats' }

/** The authorities, newest first, which clients can read by now. @throws ApiError, NetworkError */
export const keepAuthorities = async (api: Api, namespace: string, now: number): Promise<readonly KeyPair[]> => {
  const authorities = await ensureAuthorities(api, { name: AUTHORITY, namespace }, now, AUTHORITY_LIFETIME_MS)
  const data = { 'ca.crt': bundleOf(authorities) }
  const found = await api.get(ConfigMap, CA, namespace)
  if (found === undefined) await api.create(ConfigMap, { metadata: { name: CA, namespace, labels: LABELS }, data })
  else if (found.data?.['ca.crt'] !== data['ca.crt']) await api.replace(ConfigMap, { ...found, data })
  return authorities
}

/** The public keys of the accounts' users; a Secret that is not there is made. @throws ApiError, NetworkError, Failure */
export const keepUsers = async (api: Api, namespace: string): Promise<Readonly<Record<AccountName, string>>> => ({
  API: await keepUser(api, ACCOUNTS.API, namespace),
  FLEET: await keepUser(api, ACCOUNTS.FLEET, namespace),
})

const keepUser = async (api: Api, name: string, namespace: string): Promise<string> => {
  for (;;) {
    const secret = await api.get(SECRETS, name, namespace)
    if (secret !== undefined) return publicKeyOf(name, secret.data?.[SEED])
    const seed = Buffer.from(createUser().getSeed()).toString('base64')
    try {
      await api.create(SECRETS, {
        metadata: { name, namespace, labels: LABELS },
        type: 'Opaque',
        data: { [SEED]: seed },
      })
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

/** Public keys by the names of devices, as people wrote them. @throws ApiError, NetworkError */
export const readDeclaredDevices = async (api: Api, namespace: string): Promise<Readonly<Record<string, string>>> =>
  (await api.get(ConfigMap, DEVICES, namespace))?.data ?? {}
