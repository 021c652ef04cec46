import { expect, test } from 'vitest'
import { stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { FleetState } from './fleet-state.ts'
import { MAX_STRAY_REPORTS, type ReportContent, StrayReports } from './stray-reports.ts'

const AT = '2026-01-01T00:00:00Z'
const report = stateCodec.encode({ phase: 'Running', uid: 'u', revision: 1, at: AT }, 1)

// FLEET-92
test('a device is suspicious once it wrote more than it may, and again only after as many', () => {
  const stray = new StrayReports()
  const write = (count: number, content: ReportContent = 'State') => {
    for (let n = 0; n < count; n += 1) stray.count(`stolen.shop.none-${n}`, content)
  }
  write(MAX_STRAY_REPORTS)
  expect(stray.take()).toEqual([])
  write(1)
  expect(stray.take()).toEqual([{ device: 'stolen', isFlood: true, isOwn: true }])
  expect(stray.take()).toEqual([])
  write(MAX_STRAY_REPORTS + 1, 'Marker')
  const [left] = stray.take()
  expect(left).toEqual({ device: 'stolen', isFlood: false, isOwn: false })
  if (left !== undefined) stray.putBack(left)
  expect(stray.take()).toEqual([left])
})

// FLEET-92
test('what is no state may be another one’s doing', () => {
  const state = new FleetState()
  const bytes = new TextEncoder().encode('what another device had delivered')
  for (let n = 0; n <= MAX_STRAY_REPORTS; n += 1)
    state.stateSeen({ key: `victim.shop.none-${n}`, bytes, revision: n + 1 })
  const [suspicion] = state.strayReports.take()
  expect(suspicion).toEqual({ device: 'victim', isFlood: true, isOwn: false })
  if (suspicion !== undefined) state.strayReports.putBack(suspicion)
  expect(state.strayReports.take()).toEqual([suspicion])
})

// FLEET-92
test('what a device reports of Deployments that do not exist takes bounded memory, and what is no name is not counted', () => {
  const state = new FleetState()
  for (let n = 1; n <= 5_000; n += 1) state.stateSeen({ key: `stolen.shop.none-${n}`, bytes: report, revision: n })
  state.stateSeen({ key: 'Not_A_Key', bytes: report, revision: 6_000 })
  expect([...state.strayReports.take()]).toEqual([{ device: 'stolen', isFlood: true, isOwn: true }])
  expect(state.isAnswer('stolen.shop.none-1')).toBe(false)
  expect(state.isAnswer('no key')).toBe(false)
})
