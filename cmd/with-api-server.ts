import { Namespace } from '#apis/kubernetes.ts'
import { createApi } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { ApiError, NetworkError, systemClock } from '#operator/index.ts'
import type { ApiServerOptions } from './api-server-flags.ts'
import { LookFailure } from './failure.ts'

type Transport = Awaited<ReturnType<typeof loadTransport>>

/** For a command that ends: reaches the API server of its flags, and leaves it. @throws LookFailure with its address, for what it answers or that it does not */
export const withApiServer = async <T>(
  { kubeconfig, context }: ApiServerOptions,
  use: (transport: Transport) => Promise<T>,
): Promise<T> => {
  const transport = await loadTransport({ kubeconfig, context, clock: systemClock })
  try {
    return await use(transport)
  } catch (error) {
    if (error instanceof NetworkError || error instanceof ApiError)
      throw new LookFailure(`${transport.server}: ${error.message}`, { cause: error })
    throw error
  } finally {
    await transport.close()
  }
}

/**
 * In a namespace that is not there nothing is found, which would read as an answer (GITOPS-55).
 * @param name undefined for all. Without the right to read namespaces it is believed.
 * @throws LookFailure
 */
export const requireNamespace = async (transport: Transport, name: string | undefined): Promise<void> => {
  if (name === undefined) return
  const found = await createApi(transport)
    .get(Namespace, name)
    .catch((error: unknown) => {
      if (isForbidden(error)) return true
      throw error
    })
  if (found === undefined)
    throw new LookFailure(`--namespace: ${transport.server} has no namespace ${name}: write another one, or --context`)
}
