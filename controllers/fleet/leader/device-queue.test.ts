import { expect, test } from 'vitest'
import { heartbeatCodec, infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { systemClock } from '#operator/model/clock.ts'
import { DeviceCache } from '../cache/devices.ts'
import { FleetState } from '../state/fleet-state.ts'
import { DeviceQueue } from './device-queue.ts'

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`)
const passOver = (due: DeviceQueue, count: number) => {
  for (const name of names('d', count)) due.add(name)
}

// FLEET-55
test('what one agent says goes before the pass over all, and is looked at once', () => {
  const due = new DeviceQueue(4)
  passOver(due, 100)
  due.addUrgent(new Set(['d70', 'new']))
  expect(due.takeBatch()).toEqual(['d70', 'new', 'd0', 'd1'])
  for (const name of due.takeBatch()) due.delete(name)
  expect(due.takeBatch()).toEqual(['d2', 'd3', 'd4', 'd5'])
  const seen: string[] = []
  for (let next = due.takeBatch(); next.length > 0; next = due.takeBatch())
    for (const name of next) {
      due.delete(name)
      seen.push(name)
    }
  expect(seen).toEqual(names('d', 100).filter((name) => !['d0', 'd1', 'd70'].includes(name)))
})

test('a replay of all is no news: what comes after it need not wait', () => {
  const due = new DeviceQueue(4)
  due.addUrgent(new Set(names('d', 100)))
  due.addUrgent(new Set(['d99']))
  expect(due.takeBatch()).toEqual(['d99', 'd0', 'd1', 'd2'])
})

// FLEET-55
test('however much news there is, the pass gets on; without a pass news takes all of the room', () => {
  const due = new DeviceQueue(4)
  passOver(due, 100)
  due.addUrgent(new Set(names('n', 4)))
  expect(due.takeBatch()).toEqual(['n0', 'n1', 'd0', 'd1'])
  const calm = new DeviceQueue(4)
  calm.addUrgent(new Set(names('n', 4)))
  expect(calm.takeBatch()).toEqual(names('n', 4))
})

test('what failed goes behind the others', () => {
  const due = new DeviceQueue(2)
  passOver(due, 2)
  due.addUrgent(new Set(['n0']))
  due.delete('n0')
  due.add('n0')
  expect(due.takeBatch()).toEqual(['d0', 'd1'])
})

test('what an agent tells of itself is news, and that it goes or comes back, but no heartbeat after the first', () => {
  const devices = new DeviceCache(new FleetState(), systemClock, 'fleet/lease')
  const bytes = infoCodec.encode({ labels: { zone: 'z1' }, inventory: {}, agentVersion: '1' }, 0)
  const beat = heartbeatCodec.encode({ boot: 'b', at: '2026-06-01T00:00:00Z' }, 0)
  const urgent = () => [...devices.takeChanged().urgent]
  devices.infoSeen({ key: 'a', bytes, revision: 1 })
  expect(urgent()).toEqual(['a'])
  expect(urgent()).toEqual([])
  devices.heartbeatSeen({ key: 'a', bytes: beat, revision: 2 })
  expect(urgent()).toEqual(['a'])
  devices.heartbeatSeen({ key: 'a', bytes: beat, revision: 3 })
  expect(urgent()).toEqual([])
  devices.heartbeatSeen({ key: 'a', bytes: undefined, revision: 4 })
  expect(urgent()).toEqual(['a'])
  devices.heartbeatSeen({ key: 'a', bytes: beat, revision: 5 })
  expect(urgent()).toEqual(['a'])
})
