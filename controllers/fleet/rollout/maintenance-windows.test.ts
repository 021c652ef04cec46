import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Window } from '#apis/fleet.nationtech.io/v1alpha1/window.ts'
import { findOpening, parseWindows } from './maintenance-windows.ts'

const SATURDAYS: Window = { schedule: '0 2 * * SAT', timeZone: 'Europe/Berlin', duration: '4h' }
const at = (time: string, ...windows: readonly Window[]) =>
  findOpening(parseWindows(windows, 'spec.rollout.windows'), new Date(time))

test('without windows changes may begin at any time', () => {
  expect(findOpening(parseWindows(undefined, 'x'), new Date(0))).toEqual({ isOpen: true, since: undefined })
})

// FLEET-45
test('a window is open from when it opens until its duration is over, that moment not included', () => {
  const open = { isOpen: true, since: new Date('2026-06-06T00:00:00Z') }
  expect(at('2026-06-05T23:59:59.999Z', SATURDAYS)).toEqual({ isOpen: false, opens: open.since })
  expect(at('2026-06-06T00:00:00Z', SATURDAYS)).toEqual(open)
  expect(at('2026-06-06T03:59:59.999Z', SATURDAYS)).toEqual(open)
  expect(at('2026-06-06T04:00:00Z', SATURDAYS)).toEqual({ isOpen: false, opens: new Date('2026-06-13T00:00:00Z') })
})

test('of several windows one is enough, and the next to open is named', () => {
  const noon: Window = { schedule: '0 12 * * *', timeZone: 'UTC', duration: '1h' }
  expect(at('2026-06-03T12:30:00Z', SATURDAYS, noon).isOpen).toBe(true)
  expect(at('2026-06-03T13:30:00Z', SATURDAYS, noon)).toEqual({
    isOpen: false,
    opens: new Date('2026-06-04T12:00:00Z'),
  })
})

describe('when clocks change', () => {
  const nightly: Window = { schedule: '30 2 * * *', timeZone: 'Europe/Berlin', duration: '30m' }

  // FLEET-46
  test('a window in the hour that is skipped opens after it', () => {
    expect(at('2026-03-29T00:59:59Z', nightly)).toEqual({ isOpen: false, opens: new Date('2026-03-29T01:00:00Z') })
    expect(at('2026-03-29T01:29:59Z', nightly).isOpen).toBe(true)
  })

  // FLEET-46
  test('a window in the hour that comes twice opens once', () => {
    expect(at('2026-10-25T00:30:00Z', nightly).isOpen).toBe(true)
    expect(at('2026-10-25T01:30:00Z', nightly)).toEqual({ isOpen: false, opens: new Date('2026-10-26T01:30:00Z') })
  })

  test('a window over the change lasts as long as it says', () => {
    const long: Window = { schedule: '0 1 * * SUN', timeZone: 'Europe/Berlin', duration: '4h' }
    expect(at('2026-03-29T03:59:59Z', long).isOpen).toBe(true)
    expect(at('2026-03-29T04:00:00Z', long).isOpen).toBe(false)
  })
})

test('a closed window opens exactly when it says, whatever the schedule, the zone and the time', () => {
  const windows = fc.record({
    schedule: fc
      .tuple(fc.nat(59), fc.nat(23), fc.constantFrom('*', '1-5', 'SUN', '2,4'))
      .map(([minute, hour, day]) => `${minute} ${hour} * * ${day}`),
    timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Asia/Kathmandu'),
    duration: fc.constantFrom<Window['duration']>('1m', '45m', '3h', '26h'),
  })
  const times = fc.date({ min: new Date('2026-01-01'), max: new Date('2027-12-31'), noInvalidDate: true })
  fc.assert(
    fc.property(fc.array(windows, { minLength: 1, maxLength: 3 }), times, (list, now) => {
      const checked = parseWindows(list, 'windows')
      const opening = findOpening(checked, now)
      if (opening.isOpen) {
        expect(opening.since?.getTime()).toBeLessThanOrEqual(now.getTime())
        return
      }
      const opens = opening.opens?.getTime() ?? Number.NaN
      expect(opens).toBeGreaterThan(now.getTime())
      expect(findOpening(checked, new Date(opens)).isOpen).toBe(true)
      expect(findOpening(checked, new Date(opens - 1)).isOpen).toBe(false)
    }),
  )
})

test.each<[Partial<Window>, string]>([
  [
    { timeZone: 'Europe/Berlim' },
    'windows[0].timeZone: "Europe/Berlim" is no time zone: write its name in the tz database, such as Europe/Berlin',
  ],
  [{ schedule: '0 0 * * 5-1' }, 'windows[0].schedule: "0 0 * * 5-1" is no schedule'],
  [{ schedule: '0 0 30 2 *' }, 'windows[0].schedule: "0 0 30 2 *" names a day that no year has'],
])('%j is refused, with what to write', (wrong, problem) => {
  expect(() => parseWindows([{ ...SATURDAYS, ...wrong }], 'windows')).toThrow(problem)
})
