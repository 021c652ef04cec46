import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { heldUntilClosed } from './held-until-closed.ts'

test.each(['before it is held', 'after it is held'])(
  'what a request holds is given back once, when its caller goes %s',
  async (when) => {
    let given = 0
    const held = Promise.withResolvers<void>()
    const serve = async (response: ServerResponse): Promise<void> => {
      const closed = once(response, 'close')
      if (when.startsWith('before')) {
        socket.destroy()
        await closed
      }
      heldUntilClosed(response, () => {
        given += 1
      })
      socket.destroy()
      await closed
      held.resolve()
    }
    const server = createServer((_, response) => void serve(response))
    onTestFinished(() => void server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await held.promise
    expect(given).toBe(1)
  },
)
