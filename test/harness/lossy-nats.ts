import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { pipeline, Transform } from 'node:stream'

/** Before a NATS server: connections stay, and messages of some subjects never come, as where they were lost between two servers. */
export const lossyNats = async (
  target: string,
  isLost: (subject: string) => boolean,
): Promise<AsyncDisposable & { readonly url: string }> => {
  const { port, hostname } = new URL(target)
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    pipeline(client, upstream, () => upstream.destroy())
    pipeline(upstream, withoutMessages(isLost), client, () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}

const LINE_END = '\r\n'

/** `MSG subject sid [reply] bytes`, and `HMSG …`, are followed by so many bytes and the end of a line; all else is a line. */
const withoutMessages = (isLost: (subject: string) => boolean): Transform => {
  let rest = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _, done) {
      rest = Buffer.concat([rest, chunk])
      for (;;) {
        const end = rest.indexOf(LINE_END)
        if (end < 0) break
        const [verb = '', subject = '', ...more] = rest.subarray(0, end).toString().split(' ')
        const isMessage = verb === 'MSG' || verb === 'HMSG'
        const size = end + LINE_END.length + (isMessage ? Number(more.at(-1)) + LINE_END.length : 0)
        if (rest.length < size) break
        if (!isMessage || !isLost(subject)) this.push(rest.subarray(0, size))
        rest = rest.subarray(size)
      }
      done()
    },
  })
}
