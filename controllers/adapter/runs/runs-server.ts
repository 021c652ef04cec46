/**
 * `GET /adapter/runs`: the last runs as JSON, the newest first. docs/adapter-debugging.md shows how to read them.
 *
 * Bound to loopback, every process of the machine may read. Bound to anything else, TLS is served and the API server authorizes each
 * caller: `get` on `adaptertasks/runs`.
 */

import type { AdapterRuns, RunFilter } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { nearest } from '#lib/text/nearest.ts'
import { type AuthorizationResult, authorize, REPLAYABLE } from '#operator/authorization.ts'
import { type Binding, isLoopback, isLoopbackHost } from '#operator/binding.ts'
import type { Transport } from '#operator/client/transport.ts'
import { type Answer, type SideServer, serve } from '#operator/serve.ts'

export interface RunsServerOptions {
  readonly runs: AdapterRuns
  readonly binding: Binding
  /** To ask about callers; with our own account. */
  readonly transport: Transport
  /** Names where the binding came from, for the error. */
  readonly flag: string
  /** The namespace of a request that names none; undefined: all of them. */
  readonly namespace: string | undefined
  /** Of the certificate; undefined for loopback. */
  readonly certificate?: { readonly certificate: string; readonly key: string } | undefined
}

/** @throws BindingError */
export const serveRuns = ({ runs, binding, flag, certificate, ...rest }: RunsServerOptions): Promise<SideServer> =>
  serve(
    {
      '/adapter/runs': async (query, { headers }) => {
        const parsed = parseQuery(query)
        if (typeof parsed === 'string') return json(400, { message: parsed })
        const namespace = parsed.filter.namespace ?? rest.namespace
        if (isLoopback(binding)) {
          if (!isLocal(headers.host)) return json(403, { message: 'write 127.0.0.1 or localhost for the host' })
        } else {
          const verb = { verb: 'get', group: AdapterTask.group, resource: 'adaptertasks/runs', namespace }
          const refusal = toErrorResponse(await authorize(rest.transport, headers.authorization, verb), namespace)
          if (refusal !== undefined) return refusal
        }
        return json(200, { items: runs.list({ ...parsed.filter, namespace }, parsed.limit) })
      },
    },
    binding,
    flag,
    certificate,
  )

/** A page of another site that had its own name point here sends that name. */
const isLocal = (host = ''): boolean => isLoopbackHost(host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1'))

const toErrorResponse = (result: AuthorizationResult, namespace: string | undefined): Answer | undefined => {
  switch (result.kind) {
    case 'allowed':
      return undefined
    case 'unauthenticated':
      return json(401, {
        message: 'send Authorization: Bearer <token of an account of this cluster, with --audience=muster>',
      })
    case 'replayable':
      return json(401, { message: REPLAYABLE })
    case 'forbidden': {
      const where = namespace === undefined ? 'in all namespaces: name one, as in ?namespace=NAME' : `in ${namespace}`
      return json(403, { message: `${result.user} may not get adaptertasks/runs.${AdapterTask.group} ${where}` })
    }
    case 'unavailable':
      return json(503, { message: `the API server can't say whether you may read: ${result.reason}` })
  }
}

const json = (status: number, body: object): Answer => ({
  status,
  contentType: 'application/json',
  body: `${JSON.stringify(body, undefined, 2)}\n`,
})

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 200
const STATUSES = ['success', 'failed', 'skipped'] as const
const PARAMETERS = ['namespace', 'task', 'resource', 'status', 'limit']

/** The filter and limit of a query, or a sentence that says what to write instead. */
export const parseQuery = (query: URLSearchParams): { readonly filter: RunFilter; readonly limit: number } | string => {
  for (const word of query.keys())
    if (!PARAMETERS.includes(word)) {
      const near = nearest(word, PARAMETERS)
      return `${word} is no parameter: ${near === undefined ? `there are ${PARAMETERS.join(', ')}` : `did you mean ${near}?`}`
    }
  const get = (word: string) => query.get(word) ?? undefined
  const status = STATUSES.find((known) => known === get('status'))
  if (get('status') !== undefined && status === undefined) return `status is one of ${STATUSES.join(', ')}`
  const limit = Number(get('limit') ?? DEFAULT_LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    return `limit is a whole number from 1 to ${MAX_LIMIT}`
  return {
    filter: { namespace: get('namespace'), task: get('task'), resource: get('resource'), status },
    limit,
  }
}
