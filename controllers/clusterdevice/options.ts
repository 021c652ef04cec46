export interface ClusterDeviceOptions {
  readonly nats: {
    /** Several servers of one NATS cluster are separated by commas. */
    readonly url: string
    /** A file with a user's credentials, with the permissions of the fleet operator; undefined for servers without authentication. */
    readonly credentials: string | undefined
    /** A file with the certificates of the authorities that the servers' are of; those of the machine when undefined. */
    readonly ca?: string | undefined
  }
  /** A file with the public keys that entries must be signed by; undefined where they need not be signed. AGENT-48. */
  readonly publicKeys?: string | undefined
  /** Which labels of ClusterDeployments their Devices get: keys, or prefixes that end in a slash. */
  readonly labels: readonly string[]
  /** Must outlive this process: what agents applied is noted there. */
  readonly stateDir: string
  /** Of this program. */
  readonly version: string
}
