/**
 * The part of nats-server's configuration with the accounts of the fleet: their users, and what leads from one to the other. Pure.
 *
 *   FLEET     the operator, JetStream with the buckets
 *   DEVICES   the devices, no JetStream
 *
 * A device's message to a subject that DEVICES imports is FLEET's from there on, but what is answered goes back to the account that
 * asked: a reply subject is one of DEVICES, where nothing is stored. That an answer is not imported once more rests on two things:
 * all imports are of one export, and a server ends what comes by the same export twice; and they have wildcards, so they take their
 * subject from the answer, which has none of FLEET's. NATS-8.
 */
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { CONSUMER_REQUESTS, inboxOf } from '#apis/fleet.nationtech.io/kv/device-consumer.ts'
import { MAX_VALUE_BYTES } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { streamOf, subjectOf } from '#lib/nats/kv-subjects.ts'
import { devicePermissions, type Permissions } from './device-permissions.ts'
import { MAX_DEVICE_CONNECTIONS, QUOTAS, quotaLines } from './quotas.ts'

/** Public nkeys: `U…`. */
export interface Users {
  /** Of the managers, which may do everything. */
  readonly operator: string
  readonly devices: ReadonlyMap<string, string>
  /** What the fleet's buckets may take of the server's store, as nats-server writes bytes; all of it when absent. */
  readonly storage?: string | undefined
}

/** What devices reach of FLEET, all of them together: what each may is in its permissions. */
const SERVICES = [
  subjectOf(BUCKETS.state.name, '>'),
  subjectOf(BUCKETS.info.name, '*'),
  subjectOf(BUCKETS.heartbeat.name, '*'),
  `${CONSUMER_REQUESTS}.>`,
]

/** Never answered. As a service, each would have the server wait for an answer. */
const FLOW_CONTROL = `$JS.FC.${streamOf(BUCKETS.desired.name)}.*.*`

/** Bytes: the largest value and its headers. */
const MAX_PAYLOAD = MAX_VALUE_BYTES.info + 8_192
/** Of a connection; an agent has three. */
const MAX_SUBSCRIPTIONS = 32

const list = (subjects: readonly string[]): string =>
  `[\n${subjects.map((subject) => `          ${JSON.stringify(subject)}`).join('\n')}\n        ]`

const device = (name: string, nkey: string, { publish, subscribe }: Permissions): string => `    # ${name}
    {
      nkey: ${nkey}
      permissions: {
        publish: ${list(publish)}
        subscribe: ${list(subscribe)}
      }
    }`

/** The accounts, for `accounts { … }` of that configuration. The order is that of the names. */
export const fleetAccounts = ({ operator, devices, storage }: Users): string => `  FLEET {
    ${quotaLines({ ...QUOTAS.FLEET, storage })}
    users: [
      # muster manager
      { nkey: ${operator} }
    ]
    exports: [
      { service: ">", accounts: [DEVICES] }
      { stream: ${JSON.stringify(`${inboxOf('*')}.>`)}, accounts: [DEVICES] }
    ]
    imports: [
      { stream: { account: DEVICES, subject: ${JSON.stringify(FLOW_CONTROL)} } }
    ]
  }
  DEVICES {
    limits: { max_connections: ${MAX_DEVICE_CONNECTIONS}, max_payload: ${MAX_PAYLOAD}, max_subscriptions: ${MAX_SUBSCRIPTIONS} }
    # What agents ask JetStream about consumers, the operator of the fleet does.
    mappings: { "$JS.API.CONSUMER.>": "${CONSUMER_REQUESTS}.>" }
    exports: [
      { stream: ${JSON.stringify(FLOW_CONTROL)}, accounts: [FLEET] }
    ]
    imports: [
${SERVICES.map((subject) => `      { service: { account: FLEET, subject: ${JSON.stringify(subject)} } }`).join('\n')}
      { stream: { account: FLEET, subject: ${JSON.stringify(`${inboxOf('*')}.>`)} } }
    ]
    users: [
${[...devices]
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, nkey]) => device(name, nkey, devicePermissions(name)))
  .join('\n')}
    ]
  }`

/** For `include` in the configuration of a server that has JetStream. */
export const buildServerConfig = (users: Users): string =>
  `# Written by "muster fleet credentials": the users that may sign in. Include it in nats-server's configuration.
accounts {
${fleetAccounts(users)}
}
`
