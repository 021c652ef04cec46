/** Connections that do with the API what no client of ours does, and what the API holds for them. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TestApi } from './support.ts'

/** One that has said nothing yet; it ends with the test. @param caller without a token, it is known by the end of its address */
export const openConnection = async (api: TestApi, caller = 1): Promise<Socket> => {
  const port = Number(new URL(api.url).port)
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${caller}` })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** The bytes that the API holds now: of what streams read, of changes as they come, of bodies, of answers. The API has to serve metrics. */
export const heldBytes = async (
  { metricsUrl }: TestApi,
  of: 'stream' | 'live' | 'body' | 'answer',
): Promise<number> => {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text()
  return Number(new RegExp(`^hyperfleet_api_${of}_bytes(?:\\{.*\\})? (\\d+)`, 'm').exec(text)?.[1])
}
