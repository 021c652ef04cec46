/**
 * What devices say of themselves, which selections by inventory and templates go by, written by another that opens NATS: with the
 * operator's own key, which is more than any thief of one device has.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstream } from '@nats-io/jetstream'
import { fromSeed } from '@nats-io/nkeys'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { signInfo } from '#apis/fleet.nationtech.io/kv/info-signature.ts'
import { heartbeatCodec, infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { SIGNATURE_HEADER } from '#apis/fleet.nationtech.io/kv/signature.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { readEntries } from '#lib/nats/bucket-entries.ts'
import { subjectOf } from '#lib/nats/kv-subjects.ts'
import { readCredentials } from '#lib/nats/security.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { runAgent } from '#services/agent/index.ts'
import { muster } from '../cmd/run.ts'
import { type FleetWorld, fleetWorld } from '../fleet/world.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const [PUMP, KIOSK] = [`pump-${process.pid}`, `kiosk-${process.pid}`]

let world: FleetWorld
let folder: string
let keys: string
let thief: NatsConnection

const seedFile = (device: string) => join(folder, `devices/${device}.nk`)

const pairOf = async (device: string) =>
  fromSeed(new TextEncoder().encode((await readFile(seedFile(device), 'utf8')).trim()))

beforeAll(async () => {
  folder = await temporaryFolder('forged')
  const names = join(folder, 'names.txt')
  await writeFile(names, `${PUMP}\n${KIOSK}`)
  const { code, output } = await muster(['fleet', 'credentials', '--device-names', names, '--output', folder])
  expect(code, output).toBe(0)
  keys = join(folder, 'public')
  await mkdir(keys)
  for (const device of [PUMP, KIOSK]) await writeFile(join(keys, device), (await pairOf(device)).getPublicKey())
  world = await fleetWorld(folder)
  const authenticator = await readCredentials(join(folder, 'operator.nk'))
  thief = await connect({ servers: world.nats.url, ...(authenticator && { authenticator }) })
})

afterAll(async () => {
  await thief?.close()
  await world?.[Symbol.asyncDispose]()
})

const stored = async (device: string): Promise<Stored | undefined> => {
  const [entry] = await readEntries(thief, 'fleet-info', device)
  return entry?.kind === 'Value' ? { value: entry.value.slice(), signature: entry.header(SIGNATURE_HEADER) } : undefined
}

interface Stored {
  readonly value: Uint8Array
  readonly signature: string
}

/** The device's agent until it has said that. */
const agentSays = async (device: string, model: string, state = device): Promise<Stored> => {
  const stopping = new AbortController()
  const stateDir = join(folder, 'state', state)
  const running = runAgent(
    {
      device,
      labels: { world: world.namespace },
      version: '1',
      publicKeys: undefined,
      nats: {
        url: world.nats.url,
        authenticator: await readCredentials(seedFile(device)),
        ca: undefined,
        keyFile: seedFile(device),
      },
      stateDir,
      cluster: undefined,
      inventory: { model },
      programs: { user: 'self', folder: `${stateDir}-programs`, uids: { first: 1_000, last: 1_001 }, secrets: [] },
      stopWorkloads: true,
      clock: systemClock,
      log: silent,
    },
    stopping.signal,
  )
  try {
    return await world.until(async () => {
      const found = await stored(device)
      if (found === undefined || !Buffer.from(found.value).includes(`"${model}"`)) throw new Error('it has not said it')
      return found
    })
  } finally {
    stopping.abort()
    await running
  }
}

const put = async (device: string, { value, signature }: Stored): Promise<void> => {
  const own = headers()
  if (signature !== '') own.set(SIGNATURE_HEADER, signature)
  await jetstream(thief).publish(subjectOf('fleet-info', device), value, { headers: own })
}

const info = (model: string) =>
  infoCodec.encode({ labels: { world: world.namespace }, inventory: { model }, agentVersion: '1' }, 0)

const isSaidOf = (device: string, model: string, condition: object | undefined) =>
  world.until(async () => {
    const found = await world.kube.get(Device, device)
    expect(found?.spec.inventory).toEqual({ model })
    const told = found?.status?.conditions?.find(({ type }) => type === 'InfoVerified')
    if (condition === undefined) expect(told).toBeUndefined()
    else expect(told).toMatchObject(condition)
  })

// FLEET-122, FLEET-123, FLEET-124, AGENT-56, AGENT-57
test('attack: what opens NATS says of a device what its agent did not say', async () => {
  const operator = await world.operator({ deviceKeys: keys })
  const old = await agentSays(PUMP, 'p1')
  await isSaidOf(PUMP, 'p1', { status: 'True', reason: 'Signed' })
  // The same words have the same signature, also after a restart: nothing is written again.
  expect(await agentSays(PUMP, 'p1')).toEqual(old)
  const present = await agentSays(PUMP, 'p2')
  await isSaidOf(PUMP, 'p2', { status: 'True', reason: 'Signed' })

  const kiosk = await pairOf(KIOSK)
  const stranger = {
    value: info('stolen'),
    signature: signInfo((text) => kiosk.sign(text), PUMP, 10 ** 15, info('stolen')),
  }
  const attacks = [
    ['SignatureMissing', { value: info('stolen'), signature: '' }],
    ['NotItsOwn', stranger],
    ['NotItsOwn', { value: info('stolen'), signature: present.signature }],
    ['Outdated', old],
  ] as const
  for (const [reason, attack] of attacks) {
    await put(PUMP, attack)
    await isSaidOf(PUMP, 'p2', { status: 'False', reason })
    await world.until(async () =>
      expect(await operator.registry.metrics()).toContain('muster_fleet_device_infos{writer="refused"} 1'),
    )
  }
  await operator.stop()
  // What the operator knows of it is in Kubernetes.
  const next = await world.operator({ deviceKeys: keys })
  await world.until(() => expect(next.view.recovery().phase).toBe('Converged'))
  await isSaidOf(PUMP, 'p2', { status: 'False', reason: 'Outdated' })
  await put(PUMP, present)
  await isSaidOf(PUMP, 'p2', { status: 'True', reason: 'Signed' })
  // A device that lost its folder is believed: its next counter is the time.
  await agentSays(PUMP, 'p3', 'anew')
  await isSaidOf(PUMP, 'p3', { status: 'True', reason: 'Signed' })
  await next.stop()

  // What the same does where no keys of devices are given.
  const trusting = await world.operator()
  await put(PUMP, { value: info('stolen'), signature: '' })
  await isSaidOf(PUMP, 'stolen', { status: 'Unknown', reason: 'NotChecked' })
  await trusting.stop()
})

// FLEET-123, FLEET-124, FLEET-125
test('a device that never signed is believed, and its Device says so; from its first signature on nothing unsigned is, and its key can be exchanged', async () => {
  const operator = await world.operator({ deviceKeys: keys })
  await put(KIOSK, { value: info('k1'), signature: '' })
  const beat = heartbeatCodec.encode({ boot: 'b', at: new Date().toISOString() }, 0)
  await world.bucket('fleet-heartbeat', (kv) => kv.put(KIOSK, beat))
  await isSaidOf(KIOSK, 'k1', { status: 'False', reason: 'NotSigned' })
  await agentSays(KIOSK, 'k2')
  await isSaidOf(KIOSK, 'k2', { status: 'True', reason: 'Signed' })
  await put(KIOSK, { value: info('k1'), signature: '' })
  await isSaidOf(KIOSK, 'k2', { status: 'False', reason: 'SignatureMissing' })

  // Another key, as the ConfigMap has it minutes after the device: until then nothing changes.
  const pump = await pairOf(PUMP)
  const counter = Date.now()
  await put(KIOSK, { value: info('k3'), signature: signInfo((text) => pump.sign(text), KIOSK, counter, info('k3')) })
  await isSaidOf(KIOSK, 'k2', { status: 'False', reason: 'NotItsOwn' })
  await writeFile(join(keys, KIOSK), pump.getPublicKey())
  await isSaidOf(KIOSK, 'k3', { status: 'True', reason: 'Signed' })
  await operator.stop()
})
