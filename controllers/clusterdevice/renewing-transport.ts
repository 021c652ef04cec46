/** The connection to a cluster. When the cluster refuses the kubeconfig, it is read again: keys are renewed, servers move. AGENT-22. */
import type { AdminKubeconfig } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { ApiError, NetworkError } from '#operator/client/errors.ts'
import type { ApiRequest, Transport } from '#operator/client/transport.ts'
import type { Logger } from '#operator/model/log.ts'

export interface RenewingOptions {
  /** The kubeconfig as it is now. @throws when there is none */
  read(): Promise<AdminKubeconfig>
  /** @throws when it can't be used */
  open(kubeconfig: AdminKubeconfig): Transport
  readonly log: Logger
}

/** A request that fails is made once more where the kubeconfig is another one by then. @throws what `read` and `open` throw at the beginning */
export const createRenewingTransport = async ({ read, open, log }: RenewingOptions): Promise<Transport> => {
  let kubeconfig = await read()
  let current = open(kubeconfig)

  /** Whether there is another one than was used. */
  const isRenewed = async (used: Transport): Promise<boolean> => {
    const found = await read()
    if (used === current && found.text !== kubeconfig.text) {
      current = open(found)
      kubeconfig = found
      log.info('the kubeconfig of the cluster is another one now', { secret: found.secret })
      await used.close()
    }
    return used !== current
  }

  return {
    get server() {
      return current.server
    },
    async request<T>(request: ApiRequest): Promise<T> {
      const used = current
      try {
        return await used.request<T>(request)
      } catch (error) {
        if (request.signal?.aborted || !(used !== current || mayNeedNewKubeconfig(error))) throw error
        const renewed = await isRenewed(used).catch((problem: unknown) => {
          log.warn('the kubeconfig of the cluster can’t be read again, the one before stays', {
            problem: messageOf(problem),
          })
          return false
        })
        if (!renewed) throw error
        return current.request<T>(request)
      }
    },
    stream: (request) => current.stream(request),
    close: () => current.close(),
  }
}

/** What another kubeconfig may correct. */
const mayNeedNewKubeconfig = (error: unknown): boolean =>
  error instanceof NetworkError || (error instanceof ApiError && [401, 403].includes(error.status))
