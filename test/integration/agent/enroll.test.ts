/** The agent as a service: what one command writes, run as systemd would run it. docs/fleet-agent.md. */
import { chmod, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { connect, nkeyAuthenticator } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import {
  newSigningKey,
  publicKeysOf,
  readPublicKeys,
  readSigningKeys,
} from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { SYSTEMD } from '#hack/systemd/missing.ts'
import { startMuster, startNats } from '#test/harness/index.ts'
import { CHECKOUT } from '#test/harness/muster.ts'
import { muster } from '../cmd/run.ts'
import { eventually, type World, worldOn } from './world.ts'

let keys: string
let nats: Awaited<ReturnType<typeof startNats>>
let here: World

beforeAll(async () => {
  keys = await temporaryFolder('keys')
  expect(
    (await muster(['fleet', 'credentials', '--device=pump-17', '--device=pump-18', `--output=${keys}`])).code,
  ).toBe(0)
  nats = await startNats(join(keys, 'nats-users.conf'))
  const seed = (await readFile(join(keys, 'operator.nk'), 'utf8')).trim()
  const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed))
  await writeFile(join(keys, 'fleet-public.pem'), publicKey)
  here = await worldOn(await connect({ servers: nats.url, authenticator }), nats.url)
})

afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  await nats?.stop()
})

const publicKey = publicKeysOf(readSigningKeys(newSigningKey()))
const publicKeys = () => `--fleet-public-keys=${join(keys, 'fleet-public.pem')}`

const enroll = (root: string, ...more: readonly string[]) =>
  muster(['agent', 'enroll', '--device=pump-17', '--user=root', `--nats-url=${nats.url}`, `--root=${root}`, ...more])

/** A file system that has Muster by the same paths as this one. */
const image = async (): Promise<string> => {
  const root = await temporaryFolder('root')
  for (const path of [CHECKOUT[0], CHECKOUT.at(-1) ?? '']) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), '')
  }
  return root
}

const key = () => `--nats-credentials=${join(keys, 'devices/pump-17.nk')}`

// Journey 5
// AGENT-30
test.skipIf(SYSTEMD.missing() !== undefined)(
  'one command installs an agent that is in the fleet once the machine starts',
  async () => {
    const root = await image()
    const { code, output } = await enroll(root, key(), publicKeys(), '--labels=site=north,tier=edge')
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('pump-17 is enrolled') })
    expect((await stat(join(root, 'etc/muster-agent'))).mode & 0o777).toBe(0o700)
    expect((await stat(join(root, 'etc/muster-agent/nats'))).mode & 0o777).toBe(0o600)
    expect(await readdir(join(root, 'etc/systemd/system/multi-user.target.wants'))).toEqual(['muster-agent.service'])

    const unit = await readFile(join(root, 'etc/systemd/system/muster-agent.service'), 'utf8')
    const [, line = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? []
    const words = line.replaceAll('%d', join(root, 'etc/muster-agent')).split(' ')
    const args = words.slice(words.indexOf('agent'))
    await using agent = await startMuster([...args, `--state-dir=${await temporaryFolder('state')}`])
    await eventually(async () => {
      const info = await here.buckets.info.get('pump-17')
      expect(infoCodec.decode(info?.value ?? new Uint8Array()).payload).toMatchObject({
        labels: { site: 'north', tier: 'edge' },
        publicKeys: readPublicKeys(publicKey).map(({ id }) => id),
      })
    })
    await agent.stop()

    // Run again, it replaces what it wrote.
    expect((await enroll(root, key(), publicKeys(), '--labels=site=south')).code).toBe(0)
    expect(await readFile(join(root, 'etc/systemd/system/muster-agent.service'), 'utf8')).toContain(
      '--labels=site=south',
    )
  },
)

// AGENT-30, AGENT-49, AGENT-58
test.for([
  [
    'without a key',
    () => ['--accept-unsigned'],
    1,
    'does not let the device pump-17 in: check --nats-credentials; nothing was installed',
  ],
  [
    'with a file that holds none',
    () => [`--nats-credentials=${join(keys, 'nats-users.conf')}`, '--accept-unsigned'],
    2,
    'holds no credentials',
  ],
  [
    'with the key of another device',
    () => [`--nats-credentials=${join(keys, 'devices/pump-18.nk')}`, '--accept-unsigned'],
    1,
    'the key is not that of the device pump-17',
  ],
  [
    'with the key of the operator',
    () => [`--nats-credentials=${join(keys, 'operator.nk')}`, '--accept-unsigned'],
    1,
    'the key may do more than one of the device pump-17',
  ],
  ['without public keys of the fleet', () => [key()], 2, 'give the public keys of the fleet, which its ConfigMap'],
  [
    'with a file that holds none',
    () => [key(), `--fleet-public-keys=${join(keys, 'devices/pump-17.pub')}`],
    2,
    'it should hold a public key of Ed25519',
  ],
  [
    'with public keys and the word that none are asked for',
    () => [key(), publicKeys(), '--accept-unsigned'],
    2,
    'not both',
  ],
  ['with a user in the URL', () => [key(), '--nats-url=nats://a:b@127.0.0.1:4222'], 2, 'must name no user'],
] as const)('%s nothing is written', async ([, args, code, problem]) => {
  const root = await image()
  const before = await readdir(root)
  expect(await enroll(root, ...args())).toMatchObject({ code, output: expect.stringContaining(problem) })
  expect(await readdir(root)).toEqual(before)
})

// AGENT-47
test('a file system without Muster, or in which others can have files written elsewhere, is refused, and nothing is written', async () => {
  const refused = async (root: string, problem: string) =>
    expect(await enroll(root, key(), publicKeys())).toMatchObject({ code: 2, output: expect.stringContaining(problem) })
  const empty = await temporaryFolder('root')
  await refused(empty, `${empty} has no ${CHECKOUT[0]}: install Muster there`)
  expect(await readdir(empty)).toEqual([])

  const elsewhere = await temporaryFolder('elsewhere')
  const linked = await image()
  await symlink(elsewhere, join(linked, 'etc'))
  await refused(linked, `${join(linked, 'etc')} is no folder`)
  expect(await readdir(elsewhere)).toEqual([])

  const open = await image()
  await mkdir(join(open, 'etc'))
  await chmod(join(open, 'etc'), 0o777)
  await refused(open, `${join(open, 'etc')} can be changed by other accounts`)
  expect(await readdir(join(open, 'etc'))).toEqual([])

  // An account that may rename a folder above puts another tree in the place of this one; where the sticky bit is set, only owners may.
  const above = await temporaryFolder('above')
  await chmod(above, 0o777)
  const within = join(above, 'image')
  await rename(await image(), within)
  await refused(within, `${above} can be changed by other accounts`)
  expect(await readdir(within)).not.toContain('etc')
  await chmod(above, 0o1777)
  expect(await enroll(within, key(), publicKeys())).toMatchObject({ code: 0 })
})
