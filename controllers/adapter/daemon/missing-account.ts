import { ApiError, isForbidden, isNotFound } from '#operator/client/errors.ts'
import type { Transport } from '#operator/client/transport.ts'
import { type Account, missingAccount } from '../http/account-tokens.ts'

/**
 * The same requests; a refusal says when the account is not there, for Kubernetes judges rights by the name alone. ADAPTER-132.
 * @param transport in the name of the account
 * @param manager which may get ServiceAccounts of the account's namespace
 */
export const namingMissingAccount = (transport: Transport, manager: Transport, account: Account): Transport => ({
  ...transport,
  request: async (request) => {
    try {
      return await transport.request(request)
    } catch (error) {
      if (isForbidden(error) && (await isMissing(manager, account, request.signal)))
        throw new ApiError({
          kind: 'Status',
          code: error.status,
          reason: error.reason,
          message: `${missingAccount(account)}: ${error.message}`,
          details: error.details,
        })
      throw error
    }
  },
})

/** No, where that can't be said. */
const isMissing = async (
  manager: Transport,
  { namespace, name }: Account,
  signal: AbortSignal | undefined,
): Promise<boolean> => {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}`
  try {
    await manager.request({ method: 'GET', path, signal })
    return false
  } catch (error) {
    return isNotFound(error)
  }
}
