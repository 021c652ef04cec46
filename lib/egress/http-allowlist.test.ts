import { expect, test } from 'vitest'
import { httpAllowlist } from './http-allowlist.ts'

const targets = httpAllowlist(
  ['https://inventory.example.com/api', 'http://127.0.0.1:8080/', 'http://169.254.169.254'],
  '--targets',
)

test.for([
  'https://inventory.example.com/api',
  'https://inventory.example.com/api/sites/1?x=y',
  'https://INVENTORY.example.com:443/api/sites',
  'http://127.0.0.1:8080/anything',
])('%s may be asked', (url) => {
  expect(targets.refusal(url)).toBeUndefined()
})

test.for([
  ['another host', 'https://other.example.com/api', 'is not among what --targets lists'],
  ['another scheme', 'http://inventory.example.com/api', 'is not among'],
  ['another port', 'https://inventory.example.com:8443/api', 'is not among'],
  ['a longer segment', 'https://inventory.example.com/apis', 'is not among'],
  ['a way out of the path', 'https://inventory.example.com/api/../admin', 'inventory.example.com/admin is not among'],
  ['an encoded way out', 'https://inventory.example.com/api/%2e%2e/admin', 'inventory.example.com/admin is not among'],
  ['a host in the credentials', 'https://inventory.example.com@evil.example.com/api', 'with credentials'],
  ['credentials', 'https://me:s3cret@inventory.example.com/api', 'with credentials'],
  ['metadata, though it is listed', 'http://169.254.169.254/latest/meta-data', 'link-local'],
  ['metadata as a number', 'http://2852039166/latest', 'link-local'],
  ['metadata within IPv6', 'http://[::ffff:169.254.169.254]/latest', 'link-local'],
  ['link-local IPv6', 'http://[fe80::1]/', 'link-local'],
  ['another protocol', 'file:///etc/passwd', 'is no http(s)://host/path'],
])('%s is refused', ([, url = '', why]) => {
  const refusal = targets.refusal(url)
  expect(refusal).toContain(why)
  expect(refusal).not.toContain('s3cret')
})

test('with nothing listed everything is refused', () => {
  expect(httpAllowlist([], '--targets')).toMatchObject({ isEmpty: true })
  expect(httpAllowlist([], '--targets').refusal('http://127.0.0.1:8080/x')).toContain('which is nothing')
})
