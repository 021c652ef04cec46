/** One HTTP request and its answer: over the network, or from what a dry run is given. */

import type { LookupFunction } from 'node:net'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { openPool } from '#lib/http/pool.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query, or for `http` resources a whole URL. */
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** @throws Error when there is no answer, or the signal's reason */
export type RoundTrip = (request: HttpRequest, timeout: number, signal: AbortSignal) => Promise<HttpResponse>

export interface HttpConnectionOptions {
  /** What requests without a host go to; its path comes before theirs. */
  readonly base?: string | undefined
  readonly userAgent: string
  /** Characters of an answer that are read. Default: 16 MiB, more than any honest answer has. */
  readonly maxResponseChars?: number
  /** Resolves names; Node.js' own when undefined. */
  readonly lookup?: LookupFunction | undefined
  /** A file with the authorities that the server’s certificate is of, PEM, read for each connection; those of the machine when undefined. */
  readonly caFile?: string | undefined
}

export interface HttpConnection {
  readonly roundTrip: RoundTrip
  close(): Promise<void>
}

const DEFAULT_MAX_RESPONSE_CHARS = 16 * 1024 * 1024

export const openHttpConnection = ({
  base,
  userAgent,
  maxResponseChars: largest = DEFAULT_MAX_RESPONSE_CHARS,
  lookup,
  caFile,
}: HttpConnectionOptions): HttpConnection => {
  const pool = openPool({ connections: 32, caFile, lookup })
  const root = base?.replace(/\/+$/, '') ?? ''
  return {
    roundTrip: async ({ method, url, headers, body }, timeout, signal) => {
      signal.throwIfAborted()
      const server = new URL(/^https?:/.test(url) ? url : root + url)
      using limited = new AbortScope(signal).within(timeout)
      try {
        const answer = await pool.send({
          server,
          path: server.pathname + server.search,
          method,
          headers: { accept: 'application/json', 'user-agent': userAgent, ...headers },
          body,
          signal: limited.signal,
        })
        return { status: answer.status, headers: answer.headers, text: await readBounded(answer.body, largest) }
      } catch (error) {
        signal.throwIfAborted()
        throw limited.signal.aborted ? new Error(`no answer within ${timeout / 1_000} s`, { cause: error }) : error
      }
    },
    close: () => pool.close(),
  }
}

const readBounded = async (body: AsyncIterable<Buffer>, largest: number): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > largest) throw new Error(`the answer is larger than ${largest} characters`)
  }
  return text + decoder.decode()
}
