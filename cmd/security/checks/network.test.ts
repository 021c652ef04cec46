import { describe, expect, test } from 'vitest'
import type { KindName, Objects } from '../model.ts'
import { KINDS } from '../observe.ts'
import { clusterTrafficCheck } from './network.ts'

/** Objects as written here; every other kind has none. */
const objects = (given: Partial<Record<KindName, readonly object[]>>): Objects =>
  Object.fromEntries((Object.keys(KINDS) as KindName[]).map((kind) => [kind, given[kind] ?? []])) as unknown as Objects

const found = (given: Partial<Record<KindName, readonly object[]>>) =>
  clusterTrafficCheck.find(objects(given), [{ folder: '', objects: objects({}) }])

describe('SECURITY-20: of namespaces of clusters whose pods have every way', () => {
  const namespace = (name: string, more: object = {}) => ({
    metadata: { name, labels: { 'hive.openshift.io/clusterpool-uid': 'u' }, ...more },
  })
  const policy = (place: string, spec: object) => ({
    metadata: { name: 'any', namespace: place },
    spec: { podSelector: {}, ...spec },
  })
  const BOTH = { policyTypes: ['Ingress', 'Egress'] }

  test.each<[string, readonly object[], readonly object[], string | undefined]>([
    ['nothing is there', [namespace('a')], [], 'Ingress or Egress'],
    ['both are closed', [namespace('a')], [policy('a', BOTH)], undefined],
    [
      'each is closed by one',
      [namespace('a')],
      BOTH.policyTypes.map((one) => policy('a', { policyTypes: [one] })),
      undefined,
    ],
    ['one direction is closed', [namespace('a')], [policy('a', {})], 'the type Egress'],
    ['another namespace is closed', [namespace('a')], [policy('b', BOTH)], 'Ingress or Egress'],
    [
      'some pods are closed',
      [namespace('a')],
      [policy('a', { ...BOTH, podSelector: { matchLabels: { a: 'b' } } })],
      'Ingress or Egress',
    ],
    [
      'another policy opens all',
      [namespace('a')],
      [policy('a', BOTH), policy('a', { ...BOTH, egress: [{}] })],
      'opens every egress',
    ],
    [
      'another one opens every address',
      [namespace('a')],
      [policy('a', { ...BOTH, ingress: [{ from: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }] })],
      'opens every ingress',
    ],
    [
      'another one opens a port',
      [namespace('a')],
      [policy('a', { ...BOTH, egress: [{ ports: [{ port: 53 }] }] })],
      undefined,
    ],
    ['it is being deleted', [namespace('a', { deletionTimestamp: '2026-01-01T00:00:00Z' })], [], undefined],
    ['no pool made it', [{ metadata: { name: 'a' } }], [], undefined],
  ])('%s', (_, namespaces, policies, told) => {
    const lines = found({ Namespace: namespaces, NetworkPolicy: policies }).map(({ what }) => what)
    expect(lines).toHaveLength(told === undefined ? 0 : 1)
    expect(lines.join()).toContain(told ?? '')
  })

  test('five are named, with what closes all, and which flag makes all of them so', () => {
    const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => namespace(name))
    const findings = found({ Namespace: all })
    expect(findings).toHaveLength(5)
    expect(findings[0]?.todo).toContain('--clusterpool-pod-network=open')
  })
})
