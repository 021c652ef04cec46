/** Many open watch streams, and how long a change takes to reach all of them. */
import { type ClientRequest, get, type IncomingMessage } from 'node:http'
import { moment } from '../load/moment.ts'

export interface Watchers {
  /** Milliseconds from the call of `change` until the last stream has the text that it resolves with. */
  untilAllHave(text: string, change: () => Promise<unknown>): Promise<number>
  close(): void
}

/** As many as the API lets one caller have, by its address on the loopback: `--max-streams`. */
const OF_ONE_CALLER = 100

/** Opens so many streams; resolves when all have had their first bytes. */
export const openWatchers = async (url: string, path: string, count: number): Promise<Watchers> => {
  const requests: ClientRequest[] = []
  let waiting: { readonly text: Buffer; missing: number; readonly done: () => void } | undefined

  const open = async (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const localAddress = `127.0.0.${1 + Math.floor(requests.length / OF_ONE_CALLER)}`
    const request = get(
      `${url}/api/hyperfleet/v1${path}`,
      { agent: false, localAddress },
      (response: IncomingMessage) => {
        if (response.statusCode !== 200) reject(new Error(`a watch was answered ${response.statusCode}`))
        response.on('data', (bytes: Buffer) => {
          resolve()
          if (waiting?.text === undefined || !bytes.includes(waiting.text)) return
          waiting.missing -= 1
          if (waiting.missing === 0) waiting.done()
        })
      },
    )
    request.on('error', reject)
    requests.push(request)
    await promise
  }
  for (let opened = 0; opened < count; opened += 50)
    await Promise.all(Array.from({ length: Math.min(50, count - opened) }, open))

  return {
    untilAllHave: async (text, change) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting = { text: Buffer.from(text), missing: count, done: resolve }
      const at = moment()
      await change()
      await promise
      return moment() - at
    },
    close: () => {
      for (const request of requests) request.destroy()
    },
  }
}
