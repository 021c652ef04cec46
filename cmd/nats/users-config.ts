/** What nats-server must know of its users: accounts apart, and in them what each user may do. NATS-1, NATS-2. Pure. */
import { fromPublic } from '@nats-io/nkeys'
import { QUOTAS, quotaLines } from '#services/agent/nats/quotas.ts'
import { fleetAccounts } from '#services/agent/nats/server-config.ts'
import { isDeviceName } from '../agent/values.ts'

/** The accounts that have data, and the names of the Secrets with the seeds of their users. */
export const ACCOUNTS = { API: 'nats-api', FLEET: 'nats-fleet' } as const
export type AccountName = keyof typeof ACCOUNTS

export interface ServerUsers {
  /** Public nkeys of those who may do all in their account. */
  readonly accounts: Readonly<Record<AccountName, string>>
  /** The public nkey of the program beside the server, which may have the server read its configuration again, and nothing else. */
  readonly system: string
  /** Public nkeys by the names of devices. */
  readonly devices: ReadonlyMap<string, string>
  /** What the streams of each account may take of the server's store, as nats-server writes bytes. */
  readonly storage: Readonly<Record<AccountName, string>>
}

/** Of a user, with its checksum: nats-server takes no configuration with another one. */
export const isPublicKey = (text: string): boolean => {
  try {
    return /^U[A-Z2-7]{55}$/.test(text) && fromPublic(text).getPublicKey() === text
  } catch {
    return false
  }
}

/** @param files where the certificate and its key are, absolute */
export const buildUsersConfig = (
  { accounts, system, devices, storage }: ServerUsers,
  files: { readonly certificate: string; readonly key: string },
): string => `# Written by "muster nats", and again whenever users, devices or the certificate change.
tls {
  cert_file: ${JSON.stringify(files.certificate)}
  key_file: ${JSON.stringify(files.key)}
  timeout: 5
}
system_account: SYS
accounts {
  SYS {
    users: [
      # muster nats
      { nkey: ${system}, permissions: { publish: ["$SYS.REQ.SERVER.*.RELOAD"], subscribe: ["_INBOX.>"] } }
    ]
  }
  API {
    ${quotaLines({ ...QUOTAS.API, storage: storage.API })}
    users: [
      # muster api
      { nkey: ${accounts.API} }
    ]
  }
${fleetAccounts({ operator: accounts.FLEET, devices, storage: storage.FLEET })}
}
`

/**
 * The devices' keys that people declared. What can't be meant is left out, so that a slip about one device doesn't stop the others.
 * @param declared public nkeys by the names of devices @param others keys of users that are no devices
 */
export const readDeviceKeys = (
  declared: Readonly<Record<string, string>>,
  others: readonly string[],
): { readonly devices: ReadonlyMap<string, string>; readonly problems: readonly string[] } => {
  const devices = new Map<string, string>()
  const problems: string[] = []
  const owners = new Map(others.map((key) => [key, 'Muster']))
  for (const [name, written] of Object.entries(declared).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const key = written.trim()
    const owner = owners.get(key)
    if (!isDeviceName(name)) problems.push(`${name} can't be the name of a device`)
    else if (!isPublicKey(key)) problems.push(`${name} has no public key of a NATS user: it begins with U`)
    else if (owner !== undefined) problems.push(`${name} has the key of ${owner}`)
    else {
      owners.set(key, name)
      devices.set(name, key)
    }
  }
  return { devices, problems }
}
