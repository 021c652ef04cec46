import { Agent, type AgentOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import { createSecureContext, type SecureContext } from 'node:tls'
import { readTextFile } from '#lib/read-text-file.ts'

type Connected = (error: Error | null, socket: Duplex) => void

/**
 * Connections to servers that are known by the authorities of a file, and by no others: those of the machine count for nothing. The file
 * is read for each connection, so that authorities are exchanged while we run; connections that are open go on.
 */
export class AuthoritiesAgent extends Agent {
  readonly #file: string
  #known: { readonly ca: string; readonly secureContext: SecureContext } | undefined

  /** @param file PEM */
  constructor(file: string, options: AgentOptions) {
    // A session would be gone on with by a server that a former authority vouched for.
    super({ ...options, maxCachedSessions: 0 })
    this.#file = file
  }

  override createConnection(options: Parameters<Agent['createConnection']>[0], connected?: Connected): undefined {
    const connect = ({ secureContext }: { readonly secureContext: SecureContext }): void => {
      connected?.(null, super.createConnection({ ...options, secureContext } as typeof options) as Duplex)
    }
    // Also where a connection can't even be begun: the request would wait in vain.
    this.#authorities()
      .then(connect)
      .catch((error: unknown) =>
        (connected as (error: unknown) => void)(error instanceof Error ? error : new Error(String(error))),
      )
  }

  async #authorities(): Promise<{ readonly secureContext: SecureContext }> {
    const ca = await readAuthorities(this.#file)
    if (this.#known?.ca !== ca) this.#known = { ca, secureContext: createSecureContext({ ca }) }
    return this.#known
  }
}

/** @throws Error also for a file without a certificate: of nothing, Node.js would take the authorities of the machine */
const readAuthorities = async (file: string): Promise<string> => {
  const text = await readTextFile(file)
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw new Error(`${file} holds no certificate of an authority`)
}
