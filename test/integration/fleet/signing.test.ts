/** Signed entries, by operators that begin to sign, exchange their keys, stand beside others, and are killed. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { SIGNATURE_HEADER, verifyEntry } from '#apis/fleet.nationtech.io/kv/signature.ts'
import {
  newSigningKey,
  publicKeysOf,
  readPublicKeys,
  readSigningKeys,
} from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { readEntries } from '#lib/nats/bucket-entries.ts'
import { lastRelease, lastReleaseMissing } from '#test/harness/index.ts'
import { converged, type FleetWorld, fleetWorld, scoreOf } from './world.ts'

vi.setConfig({ testTimeout: 180_000 })

const publicHalf = (pem: string) => readPublicKeys(publicKeysOf(readSigningKeys(pem)))
const idOf = (pem: string): string => publicHalf(pem)[0]?.id ?? ''

let world: FleetWorld
let keyFile: string
const [ours, next] = [newSigningKey(), newSigningKey()]

beforeEach(async () => {
  world = await fleetWorld()
  keyFile = join(await temporaryFolder('signing'), 'keys.pem')
  await writeFile(keyFile, ours)
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

/** How many entries a device with these public keys would take, and would not. */
const verified = async (pem: string) => {
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  try {
    const entries = (await readEntries(connection, 'fleet-desired', '>')).filter(({ kind }) => kind === 'Value')
    const good = entries.filter(
      ({ key, value, header }) =>
        verifyEntry(publicHalf(pem), key, value, header(SIGNATURE_HEADER)).verdict === 'Verified',
    ).length
    return { good, others: entries.length - good }
  } finally {
    await connection.close()
  }
}

const conditionOf = async (device: string) =>
  (await world.kube.get(Device, device))?.status?.conditions?.find(({ type }) => type === 'EntriesVerified')

/** The device says what its agent of a release with signatures says. */
const knows = (device: string, publicKeys: readonly string[]) =>
  world.bucket('fleet-info', (kv) =>
    kv.put(
      device,
      infoCodec.encode(
        { labels: { world: world.namespace }, inventory: { arch: 'arm64' }, agentVersion: '1', publicKeys },
        0,
      ),
    ),
  )

// FLEET-103, FLEET-105
test('an operator that begins to sign writes each entry once more, with the same bytes; Devices say which of them verify', async () => {
  const before = await world.operator()
  await world.until(() => expect(before.view.recovery().phase).toBe('Converged'))
  const [a, b] = [await world.device('a'), await world.device('b')]
  await world.deploy('web')
  await world.until(async () => expect(await verified(ours)).toEqual({ good: 0, others: 2 }))
  const texts = await world.texts('fleet-desired')
  await before.stop()
  await knows(b.name, [idOf(ours)])

  const operator = await world.operator({ signingKeys: keyFile })
  await world.until(async () => expect(await verified(ours)).toEqual({ good: 2, others: 0 }))
  expect(await world.texts('fleet-desired')).toEqual(texts)
  await world.until(async () => {
    expect(await conditionOf(a.name)).toMatchObject({ status: 'False', reason: 'NoPublicKeys' })
    expect(await conditionOf(b.name)).toMatchObject({ status: 'True', reason: 'KeyKnown' })
  })
  await b.say('web', { phase: 'Failed', unverified: true })
  await world.until(async () => {
    const metrics = await operator.registry.metrics()
    expect(metrics).toContain('muster_fleet_devices_verifying{verifying="true"} 1')
    expect(metrics).toContain('muster_fleet_devices_verifying{verifying="false"} 1')
    expect(metrics).toContain('muster_fleet_unverified_entries 1')
  })
  await operator.stop()
  const revision = await world.revision('fleet-desired')

  // A start writes nothing; nor do an operator that signs nothing, as of the last release, and one that does beside it.
  const [signing, other] = [await world.operator({ signingKeys: keyFile }), await world.operator()]
  for (const one of [signing, other]) await world.until(() => expect(one.view.recovery().phase).toBe('Converged'))
  expect(await world.revision('fleet-desired')).toBe(revision)
  // What the other one writes is signed, and is then the same for both.
  await world.change('web', { spec: { score: scoreOf('changed') } })
  await world.until(async () => {
    expect(Object.values(await a.wanted())).toEqual([2])
    expect(await verified(ours)).toEqual({ good: 2, others: 0 })
  })
  expect(await world.revision('fleet-desired')).toBeLessThanOrEqual(revision + 4)
})

// FLEET-103
test.skipIf(lastReleaseMissing() !== undefined)(
  'two_versions_overlap_no_flap: beside the last release, one that signs writes each key once more at most, and the last release leaves that alone',
  async () => {
    const command = await lastRelease()
    const old = await world.process({ command })
    await converged(old)
    const machines = await Promise.all(['a', 'b', 'c'].map((name) => world.device(name)))
    await world.deploy('web')
    for (const machine of machines) await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
    await converged(await world.process({ signingKeys: keyFile }))
    await world.until(async () => expect(await verified(ours)).toEqual({ good: 3, others: 0 }))
    expect(await world.revision('fleet-desired')).toBe(6)
    await world.change('web', { spec: { score: scoreOf('next') } })
    for (const machine of machines) await world.until(async () => expect(await machine.wanted()).toEqual({ web: 2 }))
    await world.until(async () => expect(await verified(ours)).toEqual({ good: 3, others: 0 }))
    const revision = await world.revision('fleet-desired')
    expect(revision).toBeLessThanOrEqual(12)
    await old.stop()
    await converged(await world.process({ command }))
    expect(await world.revision('fleet-desired')).toBe(revision)
  },
)

// FLEET-103
test('what another writes over an entry, with the operator’s key of NATS, is written anew, signature and all', async () => {
  const operator = await world.operator({ signingKeys: keyFile })
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  const a = await world.device('a')
  await world.deploy('web')
  await world.until(async () => expect(await verified(ours)).toEqual({ good: 1, others: 0 }))
  const key = `${a.name}.${world.namespace}.web`
  const bytes = await world.bucket('fleet-desired', async (kv) => (await kv.get(key))?.value ?? new Uint8Array())
  await world.bucket('fleet-desired', (kv) => kv.put(key, bytes))
  await world.until(async () => expect(await verified(ours)).toEqual({ good: 1, others: 0 }))
  expect(await world.revision('fleet-desired')).toBe(3)
  await operator.stop()
})

// FLEET-104
test('keys are exchanged while operators run: both sign, then the next alone; one killed in the middle leaves what the next start completes', async () => {
  const first = await world.process({ signingKeys: keyFile })
  await converged(first)
  const machines = await Promise.all(['a', 'b', 'c', 'd'].map((name) => world.device(name)))
  for (const { name } of machines) await knows(name, [idOf(ours)])
  await world.deploy('web')
  await world.until(async () => expect(await verified(ours)).toEqual({ good: 4, others: 0 }))

  await writeFile(keyFile, `${next}${ours}`)
  await first.line(({ msg }) => msg.includes('the keys that sign entries are others'))
  first.signal('SIGKILL')
  await first.exited
  const second = await world.process({ signingKeys: keyFile })
  await converged(second)
  await world.until(async () => {
    expect(await verified(ours)).toEqual({ good: 4, others: 0 })
    expect(await verified(next)).toEqual({ good: 4, others: 0 })
    expect(await conditionOf(machines[0]?.name ?? '')).toMatchObject({ status: 'True', reason: 'KeyMissing' })
  })

  // A file that is no key changes nothing.
  await writeFile(keyFile, 'nothing')
  await second.line(({ msg }) => msg.includes('those that were read last go on'))
  await writeFile(keyFile, next)
  await world.until(async () => {
    expect(await verified(next)).toEqual({ good: 4, others: 0 })
    expect(await verified(ours)).toEqual({ good: 0, others: 4 })
    expect(await conditionOf(machines[0]?.name ?? '')).toMatchObject({ status: 'False', reason: 'KeyUnknown' })
  })
})

// FLEET-103
test('an operator whose file holds no key does not start, and says what should be in it', async () => {
  await writeFile(keyFile, publicKeysOf(readSigningKeys(ours)))
  const operator = await world.process({ signingKeys: keyFile })
  expect(await operator.exited).toMatchObject({ code: 1 })
  expect(operator.output()).toContain(`${keyFile}: its block 1 should be a private key of Ed25519`)
})
