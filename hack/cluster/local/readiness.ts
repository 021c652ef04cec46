import type { ConnectionOptions } from 'node:tls'
import { Agent, request } from 'undici'

/**
 * Asks an API server whether it is ready to serve; not reachable is not ready.
 * @param connect its authority, and a certificate by which it knows its caller
 * @param token in the place of such a certificate
 */
export const isReady = async (
  server: string,
  connect: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>,
  token?: string,
): Promise<boolean> => {
  const dispatcher = new Agent({ connect })
  try {
    const { statusCode, body } = await request(`${server}/readyz`, {
      dispatcher,
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
      headersTimeout: 5_000,
    })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  } finally {
    await dispatcher.destroy()
  }
}
