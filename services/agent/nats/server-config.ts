/** The part of nats-server's configuration with the users that may sign in, and what they may do. Pure. */
import { devicePermissions, type Permissions } from './device-permissions.ts'

/** Public nkeys: `U…`. */
export interface Users {
  /** Of the managers, which may do everything. */
  readonly operator: string
  readonly devices: ReadonlyMap<string, string>
}

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

/** Users of devices, each with what it may do, for a list of users in that configuration. The order is that of the names. */
export const deviceUsers = (devices: Users['devices']): string =>
  [...devices]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, nkey]) => device(name, nkey, devicePermissions(name)))
    .join('\n')

/** For `include` in the configuration of a server that has JetStream. The order is that of the names. */
export const buildServerConfig = ({ operator, devices }: Users): string =>
  `# Written by "muster fleet credentials": the users that may sign in. Include it in nats-server's configuration.
authorization {
  users: [
    # muster manager
    { nkey: ${operator} }
${deviceUsers(devices)}
  ]
}
`
