/** Which NATS servers the events of tasks may come from: ADAPTER-103. */
import { promisify } from 'node:util'
import { guardedLookup, namesBlockedAddress } from '#lib/egress/guarded-lookup.ts'
import { withoutCredentials } from '#lib/nats/url.ts'

/** Of the operator's flags, never of a task. */
export interface NatsFiles {
  readonly credentials?: string | undefined
  /** Certificates of authorities. */
  readonly ca?: string | undefined
}

/** What `--adapter-nats-servers` lists. */
export interface NatsAllowlist {
  /** What the listed servers are shown and known by. */
  readonly files: NatsFiles
  /** Why a server must not be connected to; undefined when it may. */
  refusal(url: string): string | undefined
}

const DEFAULT_PORT = '4222'

/** @param servers their URLs: of each the scheme, the host and the port have to be the same */
export const natsAllowlist = (servers: readonly string[], files: NatsFiles = {}): NatsAllowlist => {
  const allowed = new Set(servers.map((server) => addressOf(new URL(server))))
  return {
    files,
    refusal(text) {
      const url = URL.parse(text)
      if (url === null) return 'it is no nats://host:port'
      const shown = withoutCredentials(text)
      if (namesBlockedAddress(url)) return `${shown} is a link-local address, where machines keep their credentials`
      if (allowed.has(addressOf(url))) return undefined
      const list = [...allowed].join(', ') || 'nothing'
      return `${shown} is not among the NATS servers that --adapter-nats-servers lists, which is ${list}`
    },
  }
}

const addressOf = ({ protocol, hostname, port }: URL): string =>
  `${protocol}//${hostname.toLowerCase()}:${port || DEFAULT_PORT}`

const lookup = promisify(guardedLookup)

/** The client of NATS takes no lookup of ours, so the name is looked up before it. @throws Error when it leads to a link-local address */
export const refuseBlockedServer = async (url: string): Promise<void> => {
  await lookup(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'), { all: true })
}
