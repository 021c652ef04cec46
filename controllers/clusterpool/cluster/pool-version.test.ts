import { describe, expect, test } from 'vitest'
import { computePoolVersion, type VersionedFields } from './pool-version.ts'

const PLAIN: VersionedFields = {
  platform: { vsphere: { vCenter: 'vcenter.example.com', folder: '/dc1/vm' } },
  baseDomain: 'example.com',
  imageSetRef: { name: 'openshift-v4.20' },
}
const inventory = (...names: readonly string[]) => ({
  ClusterDeploymentCustomizations: names.map((name) => ({ name })),
  attempts: 3,
})

/** Pinned: when one of these changes, every unclaimed cluster of every such pool is replaced after an upgrade. */
describe('the versions of today’s pools', () => {
  test.each<[string, VersionedFields, string]>([
    ['plain', PLAIN, 'd3ccb016b2851ca4'],
    ['with an inventory', { ...PLAIN, inventory: inventory('foo') }, 'c65dfddb28692b74'],
    ['with a template', { ...PLAIN, installConfigSecretTemplateRef: { name: 'template' } }, '5fe289dbb321a394'],
    ['with one customization for all', { ...PLAIN, customizationRef: { name: 'all' } }, 'ecce4d99ed46eb3e'],
  ])('%s', (_name, spec, version) => expect(computePoolVersion(spec)).toBe(version))
})

test.each<[string, Partial<VersionedFields>]>([
  ['the cloud', { platform: { aws: { region: 'us-east-1' } } }],
  ['a field of the cloud', { platform: { vsphere: { vCenter: 'vcenter.example.com', folder: '/dc2/vm' } } }],
  ['the domain', { baseDomain: 'example.org' }],
  ['the release', { imageSetRef: { name: 'openshift-v4.21' } }],
  ['the template', { installConfigSecretTemplateRef: { name: 'template' } }],
  ['the first inventory', { inventory: inventory('foo') }],
])('POOL-20: %s makes another version', (_what, change) => {
  expect(computePoolVersion({ ...PLAIN, ...change })).not.toBe(computePoolVersion(PLAIN))
})

test('two clouds without fields are two', () => {
  const on = (platform: VersionedFields['platform']) => computePoolVersion({ ...PLAIN, platform })
  expect(on({ none: {} })).not.toBe(on({ agentBareMetal: {} }))
})

test('POOL-20, POOL-22: entries of an inventory make no other version', () => {
  expect(computePoolVersion({ ...PLAIN, inventory: inventory('foo', 'bar') })).toBe(
    computePoolVersion({ ...PLAIN, inventory: { ...inventory('foo'), attempts: 5 } }),
  )
})

test('neither the order of fields nor fields that say nothing make another version', () => {
  const written = {
    imageSetRef: { name: 'openshift-v4.20' },
    platform: { vsphere: { folder: '/dc1/vm', later: {}, vCenter: 'vcenter.example.com', also: '' } },
    baseDomain: 'example.com',
  }
  expect(computePoolVersion(written)).toBe(computePoolVersion(PLAIN))
})

test('POOL-20: size, labels and lifetimes are no part of it', () => {
  expect(computePoolVersion({ ...PLAIN, size: 9, labels: { a: 'b' }, hibernateAfter: '1h' } as VersionedFields)).toBe(
    computePoolVersion(PLAIN),
  )
})
