import { X509Certificate } from 'node:crypto'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { adminKubeconfig, type Files, nextFiles } from './pki.ts'

const CLUSTER = { name: 'first', namespace: 'pool-1' }
const NOW = Date.parse('2026-01-01T00:00:00Z')
const DAY_MS = 24 * 3_600_000

const certificate = (files: Files, name: string) => new X509Certificate(files[`${name}.crt`] ?? '')

test('CLUSTER-25: what is signed is of one authority; the server’s is for its Service, the clients’ say who they are', async () => {
  const files = await nextFiles({}, CLUSTER, NOW)
  const authority = certificate(files, 'ca')
  for (const leaf of ['apiserver', 'admin', 'controller-manager'])
    expect([leaf, certificate(files, leaf).verify(authority.publicKey)]).toEqual([leaf, true])
  expect(certificate(files, 'apiserver').checkHost('first-api.pool-1.svc')).toBe('first-api.pool-1.svc')
  expect(certificate(files, 'apiserver').checkIP('127.0.0.1')).toBe('127.0.0.1')
  expect(certificate(files, 'admin').subject).toBe('O=system:masters\nCN=admin')
  expect(certificate(files, 'controller-manager').subject).toBe('CN=system:kube-controller-manager')
  const { clusters } = load(adminKubeconfig(files, CLUSTER)) as { clusters: { cluster: { server: string } }[] }
  expect(clusters[0]?.cluster.server).toBe('https://first-api.pool-1.svc:6443')
})

test('CLUSTER-25: what is there stays as it is; after two thirds of a year the leaves are new, and nothing else is', async () => {
  const files = await nextFiles({}, CLUSTER, NOW)
  expect(await nextFiles(files, CLUSTER, NOW + 200 * DAY_MS)).toEqual(files)
  const renewed = await nextFiles(files, CLUSTER, NOW + 250 * DAY_MS)
  const changed = Object.keys(files).filter((name) => files[name] !== renewed[name])
  expect(changed.toSorted()).toEqual(
    ['apiserver', 'admin', 'controller-manager'].flatMap((leaf) => [`${leaf}.crt`, `${leaf}.key`]).toSorted(),
  )
})

test('CLUSTER-25: half an authority is no reason to make another one', async () => {
  const { 'ca.key': _, ...files } = await nextFiles({}, CLUSTER, NOW)
  await expect(nextFiles(files, CLUSTER, NOW)).rejects.toThrow('only one is there')
})

// API-189
test('CLUSTER-25: leaves that can’t be read, have another one’s key, or are of the future are signed again', async () => {
  const files = await nextFiles({}, CLUSTER, NOW)
  const spoilt = { ...files, 'admin.crt': 'half', 'apiserver.key': files['admin.key'] ?? '' }
  const renewed = await nextFiles(spoilt, CLUSTER, NOW)
  expect(certificate(renewed, 'admin').verify(certificate(files, 'ca').publicKey)).toBe(true)
  expect(renewed['apiserver.key']).not.toBe(spoilt['apiserver.key'])
  const ahead = await nextFiles(files, CLUSTER, NOW + 250 * DAY_MS)
  expect(certificate(await nextFiles(ahead, CLUSTER, NOW), 'admin').validFromDate.getTime()).toBeLessThan(NOW)
})
