import { expect, test } from 'vitest'
import { heartbeatCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
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
