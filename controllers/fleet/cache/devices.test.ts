import { createUser } from '@nats-io/nkeys'
import { expect, test } from 'vitest'
import { readDeviceKey, signInfo } from '#apis/fleet.nationtech.io/kv/info-signature.ts'
import { heartbeatCodec, infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Api } from '#operator/client/api.ts'
import { manualClock } from '#test/harness/index.ts'
import { FleetState } from '../state/fleet-state.ts'
import { DeviceCache } from './devices.ts'

test('whose heartbeats were lost with their store is offline from then on, not since the beginning of its batch', async () => {
  const clock = manualClock()
  const state = new FleetState()
  const devices = new DeviceCache(state, clock, 'shop/muster-fleet')
  const beat = (name: string) => heartbeatCodec.encode({ boot: name, at: clock.now().toISOString() }, 0)
  devices.heartbeatSeen({ key: 'here', bytes: beat('here'), revision: 1, at: clock.now() })
  devices.heartbeatSeen({ key: 'away', bytes: beat('away'), revision: 2, at: clock.now() })
  await clock.advance('1m')
  const left = clock.now()
  devices.heartbeatSeen({ key: 'away', bytes: undefined, revision: 3, at: left })
  await clock.advance('1m')
  devices.heartbeatBucketRecreated()
  expect(state.isAlive('here')).toBe(false)
  expect(devices.offlineSince('here')).toBe(clock.now().getTime())
  expect(devices.offlineSince('away')).toBe(left.getTime())
  devices.heartbeatSeen({ key: 'here', bytes: beat('here'), revision: 1, at: clock.now() })
  expect(devices.offlineSince('here')).toBeUndefined()
})

// FLEET-123
test('crash: a leader that was held up between its decision and its write brings no older info back', async () => {
  const pair = createUser()
  const nkey = pair.getPublicKey()
  const key = readDeviceKey(nkey)
  const keys = { keyOf: () => key && { key, nkey } }
  /** As the API server takes an apply, as far as it is asked for here. */
  let stored = {
    metadata: {
      name: 'pump',
      resourceVersion: '1',
      annotations: { 'fleet.nationtech.io/operator': 'shop/muster-fleet' },
    },
    spec: {},
  } as unknown as Device
  let hold: Promise<void> | undefined
  const api = {
    apply: async (_: unknown, object: Device) => {
      await hold
      const { resourceVersion } = stored.metadata
      if (object.metadata.resourceVersion !== resourceVersion) throw new Error('409: it is another one')
      stored = { ...stored, ...object, metadata: { ...object.metadata, resourceVersion: `${resourceVersion}1` } }
      return stored
    },
    patchIfUnchanged: async () => stored,
  } as unknown as Api
  const replica = (model: string, counter: number) => {
    const devices = new DeviceCache(new FleetState(), manualClock(), 'shop/muster-fleet', ['*'], keys)
    devices.seen(stored)
    const bytes = infoCodec.encode({ labels: {}, inventory: { model }, agentVersion: '1' }, 0)
    const signature = signInfo((text) => pair.sign(text), 'pump', counter, bytes)
    devices.infoSeen({ key: 'pump', bytes, revision: counter, signature })
    return devices
  }
  const [held, leading] = [replica('was-at-a', 2), replica('moved-to-b', 3)]
  const { promise, resolve } = Promise.withResolvers<void>()
  hold = promise
  const late = held.reconcile(api, 'pump', new Date())
  await new Promise(setImmediate)
  hold = undefined
  await leading.reconcile(api, 'pump', new Date())
  resolve()
  await expect(late).rejects.toThrow('409')
  expect(stored.spec.inventory).toEqual({ model: 'moved-to-b' })
})
