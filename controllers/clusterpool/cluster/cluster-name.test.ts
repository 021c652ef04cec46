import { expect, test } from 'vitest'
import { buildClusterName } from './cluster-name.ts'

const NAMESPACE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

test('a cluster is called after its pool', () => expect(buildClusterName('pool', 'x7k2p')).toBe('pool-x7k2p'))

test.each([['a'.repeat(253)], [`${'a'.repeat(47)}-${'b'.repeat(20)}`], ['pool.example.com']])(
  '%s gives a name that a namespace may have',
  (pool) => {
    const name = buildClusterName(pool, 'x7k2p')
    expect(name.length).toBeLessThanOrEqual(63)
    expect(name).toMatch(NAMESPACE)
    expect(name).toMatch(/-x7k2p$/)
  },
)

test('long names that begin alike, and names with dots, stay apart', () => {
  const long = 'a'.repeat(70)
  expect(buildClusterName(`${long}b`, 'x')).not.toBe(buildClusterName(`${long}c`, 'x'))
  expect(buildClusterName('a.b', 'x')).not.toBe(buildClusterName('a-b', 'x'))
})
