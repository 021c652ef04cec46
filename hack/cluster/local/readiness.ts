import { Agent, request } from 'undici'

/** Asks an API server whether it is ready to serve; not reachable is not ready. */
export const isReady = async (server: string, certificateAuthority: string, token: string): Promise<boolean> => {
  const dispatcher = new Agent({ connect: { ca: certificateAuthority } })
  try {
    const { statusCode, body } = await request(`${server}/readyz`, {
      dispatcher,
      headers: { authorization: `Bearer ${token}` },
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
