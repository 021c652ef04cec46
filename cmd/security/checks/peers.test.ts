import { expect, test } from 'vitest'
import { areAnywhere, isAnywhere } from './peers.ts'

const blocks = (...cidrs: readonly string[]) => ({ from: cidrs.map((cidr) => ({ ipBlock: { cidr } })) })
const namespaces = (namespaceSelector: object, more: object = {}) => ({ from: [{ namespaceSelector, ...more }] })
const NAME = 'kubernetes.io/metadata.name'

// SECURITY-4
test.each<[string, object]>([
  ['no peer', {}],
  ['every address', blocks('0.0.0.0/0')],
  ['every address of IPv6', blocks('::/0')],
  ['two halves', blocks('0.0.0.0/1', '128.0.0.0/1')],
  ['half of it', blocks('128.0.0.0/1')],
  ['eight eighths', blocks(...[0, 32, 64, 96, 128, 160, 192, 224].map((first) => `${first}.0.0.0/3`))],
  ['all public addresses of IPv6', blocks('2000::/3')],
  ['every namespace', namespaces({})],
  ['labels in every namespace', namespaces({}, { podSelector: { matchLabels: { app: 'mine' } } })],
  ['all namespaces but one', namespaces({ matchExpressions: [{ key: NAME, operator: 'NotIn', values: ['x'] }] })],
  ['all namespaces with a name', namespaces({ matchExpressions: [{ key: NAME, operator: 'Exists' }] })],
])('anywhere is %s', (_, rule) => {
  expect(isAnywhere(rule)).toBe(true)
})

test.each<[string, object]>([
  ['the private networks', blocks('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10')],
  ['those of IPv6', blocks('fc00::/7')],
  ['a machine', blocks('192.0.2.1/32', '2001:db8::1/128')],
  ['a namespace', namespaces({ matchLabels: { [NAME]: 'monitoring' } })],
  ['some namespaces', namespaces({ matchExpressions: [{ key: NAME, operator: 'In', values: ['a', 'b'] }] })],
  ['pods of this namespace', { from: [{ podSelector: {} }] }],
])('%s: not anywhere', (_, rule) => {
  expect(isAnywhere(rule)).toBe(false)
})

test('narrow rules of one policy are anywhere together', () => {
  const rules = Array.from({ length: 256 }, (_, at) => blocks(`${at}.0.0.0/8`))
  expect(rules.some(isAnywhere)).toBe(false)
  expect(areAnywhere(rules)).toBe(true)
  expect(areAnywhere(rules.slice(0, 2))).toBe(false)
})
