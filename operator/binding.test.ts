import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { BindingError, listen, parseBinding } from './binding.ts'

test.each([
  [':8081', { host: undefined, port: 8081 }],
  ['127.0.0.1:8081', { host: '127.0.0.1', port: 8081 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['[::1]:8081', { host: '::1', port: 8081 }],
  ['0', undefined],
])('%j is %j', (text, binding) => {
  expect(parseBinding(text, '--flag')).toEqual(binding)
})

test.each(['8081', '', ':', 'host', ':65536', ':-1', '::1:80', 'http://x:80', ':80a'])('%j is no address', (text) => {
  expect(() => parseBinding(text, '--health-probe-bind-address')).toThrow(
    `--health-probe-bind-address ${JSON.stringify(text)} is not an address: write :8081, 127.0.0.1:8081, or 0 for none`,
  )
})

test('a port that is taken is one line with the flag, the address and the remedy', async () => {
  const first = createServer().listen(0, '127.0.0.1')
  await once(first, 'listening')
  const { port } = first.address() as AddressInfo
  const second = listen(createServer(), { host: '127.0.0.1', port }, '--metrics-bind-address')
  await expect(second).rejects.toThrow(BindingError)
  await expect(second).rejects.toThrow(
    `--metrics-bind-address: 127.0.0.1:${port} is taken by another process: choose another port, or 0 for none`,
  )
  first.close()
})

test("an address of another machine can't be listened on", async () => {
  await expect(listen(createServer(), { host: '192.0.2.1', port: 0 }, '--flag')).rejects.toThrow(
    '--flag: 192.0.2.1:0 is not an address of this machine',
  )
})
