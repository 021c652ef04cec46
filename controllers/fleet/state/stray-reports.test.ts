import { expect, test } from 'vitest'
import { stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { FleetState } from './fleet-state.ts'
import { MAX_STRAY_REPORTS, StrayReports } from './stray-reports.ts'

const AT = '2026-01-01T00:00:00Z'
const report = stateCodec.encode({ phase: 'Running', uid: 'u', revision: 1, at: AT }, 1)

// FLEET-92
test('a device is suspicious once it wrote more than it may, and again only after as many', () => {
  const stray = new StrayReports()
  const write = (count: number, isMarker = false) => {
    for (let n = 0; n < count; n += 1) stray.count(`stolen.shop.none-${n}`, isMarker)
  }
  write(MAX_STRAY_REPORTS)
  expect(stray.take()).toEqual([])
  write(1)
  expect(stray.take()).toEqual([{ device: 'stolen', isFlood: true }])
  expect(stray.take()).toEqual([])
  write(MAX_STRAY_REPORTS + 1, true)
  const [left] = stray.take()
  expect(left).toEqual({ device: 'stolen', isFlood: false })
  if (left !== undefined) stray.putBack(left)
  expect(stray.take()).toEqual([left])
})

// FLEET-92
test('what a device reports of Deployments that do not exist takes bounded memory, and what is no name is not counted', () => {
  const state = new FleetState()
  for (let n = 1; n <= 5_000; n += 1) state.stateSeen({ key: `stolen.shop.none-${n}`, bytes: report, revision: n })
  state.stateSeen({ key: 'Not_A_Key', bytes: report, revision: 6_000 })
  expect([...state.strayReports.take()]).toEqual([{ device: 'stolen', isFlood: true }])
  expect(state.isAnswer('stolen.shop.none-1')).toBe(false)
  expect(state.isAnswer('no key')).toBe(false)
})
