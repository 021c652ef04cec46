import { expect, test } from 'vitest'
import { heartbeatCodec, infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { systemClock } from '#operator/model/clock.ts'
import { Devices } from '../cache/devices.ts'
import { FleetState } from '../state/fleet-state.ts'
import { DueDevices } from './device-queue.ts'

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`)
const passOver = (due: DueDevices, count: number) => {
  for (const name of names('d', count)) due.add(name)
}

test('what one agent says goes before the pass over all, and is looked at once', () => {
  const due = new DueDevices(4)
  passOver(due, 100)
  due.tell(new Set(['d70', 'new']))
  expect(due.next()).toEqual(['d70', 'new', 'd0', 'd1'])
  for (const name of due.next()) due.delete(name)
  expect(due.next()).toEqual(['d2', 'd3', 'd4', 'd5'])
  const seen: string[] = []
  for (let next = due.next(); next.length > 0; next = due.next())
    for (const name of next) {
      due.delete(name)
      seen.push(name)
    }
  expect(seen).toEqual(names('d', 100).filter((name) => !['d0', 'd1', 'd70'].includes(name)))
})

test('a replay of all is no news: what comes after it need not wait', () => {
  const due = new DueDevices(4)
  due.tell(new Set(names('d', 100)))
  due.tell(new Set(['d99']))
  expect(due.next()).toEqual(['d99', 'd0', 'd1', 'd2'])
})

test('however much news there is, the pass gets on; without a pass news takes all of the room', () => {
  const due = new DueDevices(4)
  passOver(due, 100)
  due.tell(new Set(names('n', 4)))
  expect(due.next()).toEqual(['n0', 'n1', 'd0', 'd1'])
  const calm = new DueDevices(4)
  calm.tell(new Set(names('n', 4)))
  expect(calm.next()).toEqual(names('n', 4))
})

test('what failed goes behind the others', () => {
  const due = new DueDevices(2)
  passOver(due, 2)
  due.tell(new Set(['n0']))
  due.delete('n0')
  due.add('n0')
  expect(due.next()).toEqual(['d0', 'd1'])
})

test('what an agent tells of itself is news, and that it goes or comes back, but no heartbeat after the first', () => {
  const devices = new Devices(new FleetState(), systemClock, 'fleet/lease')
  const bytes = infoCodec.encode({ labels: { zone: 'z1' }, inventory: {}, agentVersion: '1' }, 0)
  const beat = heartbeatCodec.encode({ boot: 'b', at: '2026-06-01T00:00:00Z' }, 0)
  const told = () => [...devices.changed().told]
  devices.infoSeen({ key: 'a', bytes, revision: 1 })
  expect(told()).toEqual(['a'])
  expect(told()).toEqual([])
  devices.beatSeen({ key: 'a', bytes: beat, revision: 2 })
  expect(told()).toEqual(['a'])
  devices.beatSeen({ key: 'a', bytes: beat, revision: 3 })
  expect(told()).toEqual([])
  devices.beatSeen({ key: 'a', bytes: undefined, revision: 4 })
  expect(told()).toEqual(['a'])
  devices.beatSeen({ key: 'a', bytes: beat, revision: 5 })
  expect(told()).toEqual(['a'])
})
