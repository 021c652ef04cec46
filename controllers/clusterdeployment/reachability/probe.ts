/** One look at the API server of a cluster, with its own kubeconfig and nothing of the manager's: CLUSTER-20. */
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { guardedLookup } from '#lib/egress/guarded-lookup.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { ApiError } from '#operator/client/errors.ts'
import { createTransport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'

/** Of a whole look, in milliseconds. */
const TIMEOUT_MS = 10_000
/** Of an answer, which is a word or a Status. */
const MAX_PROBE_BYTES = 65_536
/** The cluster's own words are in it. */
const MAX_MESSAGE_CHARS = 256

export interface ProbeOptions {
  readonly userAgent: string
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * @param config as `parseAdminKubeconfig` gives it
 * @returns why it can't be used; undefined when it can
 * @throws the signal's reason once that aborted
 */
export const probeApiServer = async (
  config: KubeConfig,
  { userAgent, clock, signal }: ProbeOptions,
): Promise<string | undefined> => {
  const transport = createTransport(config, { userAgent, clock, lookup: guardedLookup })
  using limited = new AbortScope(signal).within(TIMEOUT_MS)
  try {
    await transport.request({
      method: 'GET',
      path: '/readyz',
      timeout: TIMEOUT_MS,
      maxBytes: MAX_PROBE_BYTES,
      signal: limited.signal,
    })
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    if (limited.signal.aborted) return `${transport.server}: no answer within ${TIMEOUT_MS / 1_000} s`
    return describe(transport.server, error)?.slice(0, MAX_MESSAGE_CHARS)
  } finally {
    await transport.close()
  }
}

const describe = (server: string, error: unknown): string | undefined => {
  if (!(error instanceof ApiError)) return messageOf(error)
  if (error.status === 401) return `${server} refuses the kubeconfig: ${error.message}`
  // It knows the user, whatever it lets that one read.
  return error.status === 403 || error.status === 404 ? undefined : `${server} is not ready: ${error.message}`
}
