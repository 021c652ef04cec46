/**
 * Maintenance windows: whether changes may begin now, by cron schedules in time zones. A schedule that falls into the hour that
 * a clock skips opens right after it; one in the hour that comes twice opens once. FLEET-45, FLEET-46. Pure.
 */

import { Cron } from 'croner'
import type { Window } from '#apis/fleet.nationtech.io/v1alpha1/window.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { toMilliseconds } from '#operator/model/duration.ts'
import { FLEET_ERRORS } from '../errors.ts'

/** A window that can't be read: where, what is wrong, and what to write instead. */
export class WindowError extends errorOf(FLEET_ERRORS, 'WindowError') {
  constructor(path: string, problem: string, options?: ErrorOptions) {
    super(`${path}: ${problem}`, options)
  }
}

/** One window, checked. */
interface CheckedWindow {
  readonly schedule: Cron
  /** Milliseconds. */
  readonly duration: number
}

export type Windows = readonly CheckedWindow[]

/** Undefined ones never close. @param path Where they stand. @throws WindowError */
export const parseWindows = (windows: readonly Window[] | undefined, path: string): Windows | undefined =>
  windows?.map(({ schedule, timeZone, duration }, position) => {
    const at = `${path}[${position}]`
    return { schedule: parseCron(schedule, parseTimeZone(timeZone, at), at), duration: toMilliseconds(duration) }
  })

const parseTimeZone = (timeZone: string, path: string): string => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
  } catch (error) {
    const problem = `${JSON.stringify(timeZone)} is no time zone: write its name in the tz database, such as Europe/Berlin`
    throw new WindowError(`${path}.timeZone`, problem, { cause: error })
  }
}

const parseCron = (schedule: string, timezone: string, path: string): Cron => {
  const cron = (() => {
    try {
      return new Cron(schedule, { timezone, mode: '5-part', paused: true })
    } catch (error) {
      const why = (error instanceof Error ? error.message : String(error)).replace(/^\w+: /, '')
      const problem = `${JSON.stringify(schedule)} is no schedule (${why}): write minute hour day-of-month month day-of-week, such as "0 2 * * SAT"`
      throw new WindowError(`${path}.schedule`, problem, { cause: error })
    }
  })()
  // The 30th of February.
  if (cron.nextRun(ANY_TIME) === null)
    throw new WindowError(`${path}.schedule`, `${JSON.stringify(schedule)} names a day that no year has`)
  return cron
}

const ANY_TIME = new Date(0)

export type Opening =
  /** Changes may begin, since then; undefined when there are no windows. */
  | { readonly isOpen: true; readonly since: Date | undefined }
  /** When the next one opens. */
  | { readonly isOpen: false; readonly opens: Date | undefined }

/** Whether any window is open: each is from when its schedule says, for as long as its duration, that moment not included. */
export const findOpening = (windows: Windows | undefined, now: Date): Opening => {
  if (windows === undefined) return { isOpen: true, since: undefined }
  const starts = windows.flatMap(({ schedule, duration }) => {
    const start = schedule.nextRun(new Date(now.getTime() - duration))
    return start === null ? [] : [start]
  })
  const since = earliest(starts.filter((start) => start <= now))
  if (since !== undefined) return { isOpen: true, since }
  return { isOpen: false, opens: earliest(starts) }
}

const earliest = (times: readonly Date[]): Date | undefined => times.toSorted((a, b) => a.getTime() - b.getTime())[0]
