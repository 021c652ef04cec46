/** What a thief of the operator's key of NATS writes for devices, as an operator that signs takes it. docs/decisions/signed-entries.md. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { canonicalText, digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { type Desired, desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { SIGNATURE_HEADER, verifyEntry } from '#apis/fleet.nationtech.io/kv/signature.ts'
import {
  newSigningKey,
  publicKeysOf,
  readPublicKeys,
  readSigningKeys,
} from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { readEntries } from '#lib/nats/bucket-entries.ts'
import { type FleetWorld, fleetWorld, type Machine, scoreOf } from '../fleet/world.ts'
import { putEntry } from './signed-world.ts'

vi.setConfig({ testTimeout: 180_000 })

const keys = newSigningKey()
const publicKeys = readPublicKeys(publicKeysOf(readSigningKeys(keys)))
let world: FleetWorld
let keyFile: string

beforeEach(async () => {
  world = await fleetWorld()
  keyFile = join(await temporaryFolder('written-over'), 'keys.pem')
  await writeFile(keyFile, keys)
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

/** What a device with the public keys would take, by Deployment: number and workload. */
const taken = async (machine: Machine): Promise<Readonly<Record<string, unknown>>> => {
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  try {
    const entries = (await readEntries(connection, 'fleet-desired', `${machine.name}.>`)).filter(
      ({ kind, key, value, header }) =>
        kind === 'Value' && verifyEntry(publicKeys, key, value, header(SIGNATURE_HEADER)).verdict === 'Verified',
    )
    return Object.fromEntries(
      entries.map(({ key, value }) => {
        const { revision, score } = desiredCodec.decode(value).payload
        return [key.split('.')[2], [revision, score.data]]
      }),
    )
  } finally {
    await connection.close()
  }
}

const keyOf = (machine: Machine): string => `${machine.name}.${world.namespace}.web`

const plant = async (key: string, bytes: Uint8Array): Promise<void> => {
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  try {
    await putEntry(connection, key, bytes, '')
  } finally {
    await connection.close()
  }
}

const entryOf = (key: string) =>
  world.bucket('fleet-desired', async (kv) => {
    const found = await kv.get(key)
    if (found === null) throw new Error(`nothing is under ${key}`)
    return desiredCodec.decode(found.value)
  })

const signing = async () => {
  const operator = await world.operator({ signingKeys: keyFile })
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  return operator
}

/** What stands under a key as a thief changes it. */
const PLANTED: Readonly<Record<string, (found: Desired) => Uint8Array>> = {
  'is of a Deployment made later': (found) =>
    desiredCodec.encode(
      { ...found, owner: { uid: 'thief', created: '9999-01-01T00:00:00Z' }, score: scoreOf('planted') },
      1,
    ),
  'is of a later release': (found) =>
    Buffer.from(canonicalText({ schema: 2, generation: 1, digest: digestOf(found), payload: found })),
  'was filled in with a later Device': (found) =>
    desiredCodec.encode(
      {
        ...found,
        score: scoreOf('planted'),
        filled: { digest: found.filled?.digest ?? '', device: '9'.repeat(30) },
      },
      1,
    ),
  'is of a later revision': (found) => desiredCodec.encode({ ...found, revision: 9, score: scoreOf('planted') }, 1),
}

// FLEET-106
test('attack: entries say that they are of a Deployment made later, of a later release, filled in with a later Device, of a later revision; an operator that signs writes over each, also at its start', async () => {
  const operator = await signing()
  const attacks = await Promise.all(
    Object.entries(PLANTED).map(async ([says, change], index) => ({
      says,
      change,
      machine: await world.device(`device-${index}`),
    })),
  )
  await world.deploy('web', { score: { ...scoreOf('{{ .device.name }}'), templated: true } })
  const untilAsWanted = () =>
    world.until(async () => {
      for (const { says, machine } of attacks)
        expect([says, await taken(machine)]).toEqual([says, { web: [1, { command: [machine.name] }] }])
    })
  await untilAsWanted()
  const planted = await Promise.all(
    attacks.map(async ({ change, machine }) => {
      const key = keyOf(machine)
      return { key, bytes: change((await entryOf(key)).payload) }
    }),
  )

  for (const { key, bytes } of planted) await plant(key, bytes)
  await untilAsWanted()
  await operator.stop()
  for (const { key, bytes } of planted) await plant(key, bytes)
  const next = await signing()
  await untilAsWanted()
  await world.until(async () =>
    expect((await world.deployment('web'))?.status?.aggregate).toMatchObject({ matched: attacks.length, held: 0 }),
  )
  await next.stop()
})

// FLEET-107
test('attack: a device whose turn has not come loses its entry, and a forged state says that it has an older revision; that one is not signed', async () => {
  const operator = await signing()
  const machine = await world.device('a')
  await world.deploy('web', { score: scoreOf('first') })
  await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
  for (const [index, word] of ['second', 'third'].entries()) {
    await world.change('web', { spec: { score: scoreOf(word) } })
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: index + 2 }))
  }
  await world.change('web', { spec: { score: scoreOf('fourth'), rollout: { paused: true } } })
  await machine.say('web', { revision: 1 })
  await world.until(async () =>
    expect((await world.deployment('web'))?.status).toMatchObject({ revision: 4, aggregate: { held: 1 } }),
  )

  // This operator has read what the device had.
  await world.bucket('fleet-desired', (kv) => kv.delete(keyOf(machine)))
  await world.until(async () => expect(await taken(machine)).toEqual({ web: [3, { command: ['third'] }] }))
  await operator.stop()

  // The next one has not: the key stays empty, while what may come comes.
  await world.bucket('fleet-desired', (kv) => kv.delete(keyOf(machine)))
  const next = await signing()
  await world.deploy('other')
  await world.until(async () => expect(await taken(machine)).toEqual({ other: [1, { command: ['other'] }] }))
  await world.change('web', { spec: { rollout: { paused: false } } })
  await world.until(async () => expect(await taken(machine)).toMatchObject({ web: [4, { command: ['fourth'] }] }))
  await next.stop()
})
