import { expect, test } from 'vitest'
import { clusterName } from './cluster-name.ts'

const NAMESPACE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

test('a cluster is called after its pool', () => expect(clusterName('pool', 'x7k2p')).toBe('pool-x7k2p'))

test.each([['a'.repeat(253)], [`${'a'.repeat(47)}-${'b'.repeat(20)}`], ['pool.example.com']])(
  '%s gives a name that a namespace may have',
  (pool) => {
    const name = clusterName(pool, 'x7k2p')
    expect(name.length).toBeLessThanOrEqual(63)
    expect(name).toMatch(NAMESPACE)
    expect(name).toMatch(/-x7k2p$/)
  },
)

test('long names that begin alike, and names with dots, stay apart', () => {
  const long = 'a'.repeat(70)
  expect(clusterName(`${long}b`, 'x')).not.toBe(clusterName(`${long}c`, 'x'))
  expect(clusterName('a.b', 'x')).not.toBe(clusterName('a-b', 'x'))
})
