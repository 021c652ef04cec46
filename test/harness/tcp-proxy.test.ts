import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type TcpProxy, tcpProxy } from './tcp-proxy.ts'

const echo = createServer((socket) => {
  socket.on('error', () => undefined)
  socket.pipe(socket)
})

beforeAll(async () => {
  echo.listen(0, '127.0.0.1')
  await once(echo, 'listening')
})
afterAll(() => {
  echo.close()
})

const proxied = (): Promise<TcpProxy> =>
  tcpProxy(`nats://user:secret@127.0.0.1:${(echo.address() as AddressInfo).port}/path`)

const dial = (port: number): Socket => {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  // The proxy resets what is open when it stops.
  socket.on('error', () => undefined)
  onTestFinished(() => {
    socket.destroy()
  })
  return socket
}

const through = (proxy: TcpProxy): Socket => dial(Number(new URL(proxy.url).port))

const direct = (): Socket => dial((echo.address() as AddressInfo).port)

const ask = async (socket: Socket, text: string): Promise<unknown> => {
  socket.write(text)
  const [answer] = await once(socket, 'data')
  return answer
}

const ending = async (socket: Socket): Promise<string> => {
  const [error] = await once(socket, 'error')
  return error.code
}

test('the url keeps everything but the address', async () => {
  await using proxy = await proxied()
  expect(proxy.url).toMatch(/^nats:\/\/user:secret@127\.0\.0\.1:\d+\/path$/)
})

test('cut breaks open connections, new ones pass', async () => {
  await using proxy = await proxied()
  const socket = through(proxy)
  expect(await ask(socket, 'hello')).toBe('hello')
  proxy.cut()
  expect(await ending(socket)).toBe('ECONNRESET')
  expect(await ask(through(proxy), 'again')).toBe('again')
})

test('hold stops the bytes and release delivers them', async () => {
  await using proxy = await proxied()
  const socket = through(proxy)
  await ask(socket, 'hello')
  proxy.hold()
  const heard: string[] = []
  socket.on('data', (text: string) => heard.push(text))
  socket.write('held')
  expect(await ask(direct(), 'direct')).toBe('direct')
  expect(heard).toEqual([])
  proxy.release()
  await expect.poll(() => heard.join('')).toBe('held')
})

test('refuse breaks new connections until accept', async () => {
  await using proxy = await proxied()
  proxy.refuse()
  expect(await ending(through(proxy))).toBe('ECONNRESET')
  proxy.accept()
  expect(await ask(through(proxy), 'hello')).toBe('hello')
})
