import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import { authorityFile, ensureCertificates, type Leaf, leafFile } from './certificates.ts'

const LEAVES: readonly Leaf[] = ['apiserver', 'admin', 'controller-manager']
const DAY_MS = 24 * 3_600_000
const VALIDITY_MS = 30 * DAY_MS

test('certificates are made once, and anew when less than a third of their life is left; their authority stays', async () => {
  const folder = await temporaryFolder('certificates')
  const now = Date.now()
  const readAll = () => Promise.all(LEAVES.map((leaf) => readFile(leafFile(folder, leaf), 'utf8')))

  await ensureCertificates(folder, VALIDITY_MS, now)
  const first = await readAll()
  const authority = new X509Certificate(await readFile(authorityFile(folder)))
  for (const pem of first) expect(new X509Certificate(pem).verify(authority.publicKey)).toBe(true)
  expect(new X509Certificate(first[1] ?? '').subject).toBe('O=system:masters\nCN=admin')

  await ensureCertificates(folder, VALIDITY_MS, now + 19 * DAY_MS)
  expect(await readAll()).toEqual(first)
  await ensureCertificates(folder, VALIDITY_MS, now + 21 * DAY_MS)
  const second = await readAll()
  for (const [at, pem] of second.entries()) {
    expect(pem).not.toBe(first[at])
    expect(new X509Certificate(pem).verify(authority.publicKey)).toBe(true)
    expect(new X509Certificate(pem).validToDate.getTime()).toBeGreaterThan(now + 50 * DAY_MS)
  }
})
