import { X509Certificate } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { beforeEach, expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { createAuthority, type KeyPair } from '#operator/admission/certificates.ts'
import { AUTHORITY_DISTRIBUTION_MS } from './objects.ts'
import { filesIn, keepCertificate, type ServerFiles } from './server-files.ts'

const DAY_MS = 24 * 3_600_000
const NOW = Date.UTC(2026, 0, 1)

let files: ServerFiles
let authority: KeyPair

beforeEach(async () => {
  files = filesIn(await temporaryFolder('nats'))
  authority = await createAuthority('nats', NOW - DAY_MS, 3_650 * DAY_MS)
})

const issuer = async () => new X509Certificate(await readFile(files.certificate)).issuer
const keep = (authorities: readonly KeyPair[], now: number, hosts = ['nats', '127.0.0.1']) =>
  keepCertificate(files, authorities, hosts, now)

// NATS-3
test('a certificate stays until two thirds of its life are over, then it is another one', async () => {
  expect(await keep([authority], NOW)).toBe(true)
  expect(await keep([authority], NOW + 4 * DAY_MS)).toBe(false)
  expect(await keep([authority], NOW + 5 * DAY_MS)).toBe(true)
  const { validTo } = new X509Certificate(await readFile(files.certificate))
  expect(new Date(validTo).getTime()).toBe(NOW + 12 * DAY_MS)
})

// NATS-3
test('a certificate is signed again for other hosts, and where it or its key can’t be read', async () => {
  await keep([authority], NOW)
  expect(await keep([authority], NOW, ['nats', 'nats.example'])).toBe(true)
  expect(new X509Certificate(await readFile(files.certificate)).checkHost('nats.example')).toBe('nats.example')
  await writeFile(files.certificate, '')
  expect(await keep([authority], NOW, ['nats', 'nats.example'])).toBe(true)
  const { key } = await createAuthority('another', NOW)
  await writeFile(files.key, key)
  expect(await keep([authority], NOW, ['nats', 'nats.example'])).toBe(true)
})

// NATS-3
test('the next authority signs once clients had time to learn of it; both are told of meanwhile', async () => {
  const next = await createAuthority('next', NOW, 3_650 * DAY_MS)
  await keep([next, authority], NOW)
  expect(await issuer()).toBe('CN=nats')
  expect((await readFile(files.ca, 'utf8')).match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
  await keep([next, authority], NOW + AUTHORITY_DISTRIBUTION_MS + 1)
  expect(await issuer()).toBe('CN=next')
  // An authority that is trusted no more has signed nothing that is served.
  await keep([authority], NOW + AUTHORITY_DISTRIBUTION_MS + 1)
  expect(await issuer()).toBe('CN=nats')
})

// API-189
test('a certificate of the future, made while the clock was ahead, is signed again', async () => {
  expect(await keep([authority], NOW + 3 * DAY_MS)).toBe(true)
  expect(await keep([authority], NOW)).toBe(true)
  expect(await keep([authority], NOW)).toBe(false)
})
