import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { guardedLookup, namesBlockedAddress } from './guarded-lookup.ts'

const lookup = promisify(guardedLookup)

test('a name that leads to this machine is resolved', async () => {
  expect(await lookup('localhost', { family: 4 })).toBe('127.0.0.1')
})

test('a name that leads to a link-local address is not asked', async () => {
  await expect(lookup('169.254.169.254', {})).rejects.toThrow('link-local')
})

test('an address is known however it is written', () => {
  for (const url of [
    'http://169.254.169.254',
    'http://2852039166',
    'http://[::ffff:169.254.169.254]',
    'http://[fe80::1]',
  ])
    expect(namesBlockedAddress(new URL(url))).toBe(true)
  for (const url of ['http://169.253.0.1', 'http://169.254.169.254.example.com', 'http://[::1]'])
    expect(namesBlockedAddress(new URL(url))).toBe(false)
})
