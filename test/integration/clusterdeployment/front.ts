/** Stands before the HyperFleet API and decides the fate of each request, as the request proxy does before Kubernetes. */
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closeServer, type Fate, meet, type ProxiedRequest } from '#test/harness/index.ts'

export interface Front extends AsyncDisposable {
  readonly url: string
  /** Every request so far, as `METHOD path`, without its query. */
  readonly requests: readonly string[]
  /** The Authorization headers that came, each once, in order. */
  readonly authorizations: ReadonlySet<string>
  /** From now on. */
  decide(fate: (request: ProxiedRequest) => Fate | Promise<Fate>): void
  /** Breaks what is under way, streams included. */
  cut(): void
  /** Another API stands behind it from now on. */
  lead(url: string): void
}

/** @param target URL of the API */
export const front = async (target: string): Promise<Front> => {
  let decide: (request: ProxiedRequest) => Fate | Promise<Fate> = () => 'pass'
  let behind = target
  const requests: string[] = []
  const authorizations = new Set<string>()
  const server = createServer((incoming, answer) => {
    const { method = 'GET', url = '/' } = incoming
    requests.push(`${method} ${url.split('?')[0]}`)
    if (incoming.headers.authorization !== undefined) authorizations.add(incoming.headers.authorization)
    const upstream = () => httpRequest(new URL(url, behind), { method, headers: incoming.headers })
    void Promise.resolve(decide({ method, path: url, number: requests.length })).then((fate) =>
      meet(fate, incoming, answer, { upstream, refusal }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    authorizations,
    decide: (fate) => {
      decide = fate
    },
    cut: () => server.closeAllConnections(),
    lead: (to) => {
      behind = to
    },
    [Symbol.asyncDispose]: () => closeServer(server),
  }
}

const refusal = () => ({ detail: 'by the front' })
