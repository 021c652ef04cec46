import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type ManualClock, manualClock } from '#test/harness/clock.ts'
import { credentialsOf } from './credentials.ts'

let folder: string
let clock: ManualClock
beforeEach(async () => {
  clock = manualClock()
  folder = await mkdtemp(join(tmpdir(), 'credentials-'))
  onTestFinished(() => rm(folder, { recursive: true }))
})

const files = async (content: string) => {
  await writeFile(join(folder, 'ca'), `ca ${content}`)
  await writeFile(join(folder, 'cert'), `cert ${content}`)
  await writeFile(join(folder, 'key'), `key ${content}`)
}

const certificates = (): KubeConfig => {
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    { name: 'c', server: 'https://x', caFile: join(folder, 'ca'), skipTLSVerify: false, tlsServerName: 'api' },
    { name: 'u', certFile: join(folder, 'cert'), keyFile: join(folder, 'key') },
  )
  return config
}

test('a changed CA or certificate is seen after ten seconds, an unchanged one keeps its identity', async () => {
  await files('one')
  const source = credentialsOf(certificates(), clock)
  const { tls } = await source.current()
  expect({ ca: String(tls.ca), cert: String(tls.cert), key: String(tls.key), servername: tls.servername }).toEqual({
    ca: 'ca one',
    cert: 'cert one',
    key: 'key one',
    servername: 'api',
  })
  await clock.advance('10s')
  expect((await source.current()).tls).toBe(tls)
  await files('two')
  expect((await source.current()).tls).toBe(tls)
  await clock.advance('10s')
  expect(String((await source.current()).tls.ca)).toBe('ca two')
})

test('they are read again as soon when the clock of the machine is set back', async () => {
  await files('one')
  const source = credentialsOf(certificates(), clock)
  await source.current()
  await files('two')
  clock.set(-3_600_000)
  await clock.advance('10s')
  const second = await source.current()
  expect(String(second.tls.ca)).toBe('ca two')
  expect(source.refresh(second)).toBe(true)
  clock.set(-3_600_000)
  await clock.advance('10s')
  expect(source.refresh(await source.current())).toBe(true)
})

test('a CA is trusted also for a context without a user', async () => {
  await files('one')
  const config = certificates()
  config.contexts = config.contexts.map((context) => ({ ...context, user: '' }))
  expect(String((await credentialsOf(config, clock).current()).tls.ca)).toBe('ca one')
})

test('a user name and password become basic authentication, impersonation a header', async () => {
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    { name: 'c', server: 'http://x', skipTLSVerify: false },
    { name: 'u', username: 'me', password: 'pw', impersonateUser: 'you' },
  )
  expect((await credentialsOf(config, clock).current()).headers).toEqual({
    Authorization: `Basic ${Buffer.from('me:pw').toString('base64')}`,
    'Impersonate-User': 'you',
  })
})

test('rejected credentials are read again at once, but not at every request', async () => {
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'one')
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    { name: 'c', server: 'https://x', skipTLSVerify: false },
    { name: 'u', authProvider: { name: 'tokenFile', config: { tokenFile } } },
  )
  const source = credentialsOf(config, clock)
  const first = await source.current()
  await writeFile(tokenFile, 'two')
  expect(await source.current()).toBe(first)
  expect(source.refresh(first)).toBe(true)
  const second = await source.current()
  expect(second.headers).toEqual({ Authorization: 'Bearer two' })
  expect(source.refresh(second)).toBe(false)
  expect(source.refresh(first)).toBe(true) // a request that began before the refresh
  await clock.advance('10s')
  expect(source.refresh(await source.current())).toBe(true)
})
