import { errorOf } from '#lib/errors/error-of.ts'
import { type Duration, toMilliseconds } from '../model/duration.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import type { RetryPolicy } from '../model/outcome.ts'

/** A handler was declared wrongly: a programmer's mistake, thrown where it was made. */
export class RegistrationError extends errorOf(OPERATOR_ERRORS, 'RegistrationError') {
  constructor(controller: string, problem: string) {
    super(`controller ${controller}: ${problem}`)
  }
}

const NAME = /^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/
const ID = /^[A-Za-z0-9]([-A-Za-z0-9_./]{0,61}[A-Za-z0-9])?$/

export interface Registration {
  /** Refuses an id that is malformed or taken. */
  reserveId(what: string, id: string): void
  /** Refuses limits that can't work. */
  limits(id: string, policy: RetryPolicy): void
  /** Milliseconds. Refuses what is no duration or negative. */
  duration(where: string, duration: Duration): number
  /** Refuses what is no whole number from 1 on. */
  count(where: string, value: number): void
  fail(problem: string): never
}

/** The checks of everything that is declared on one controller. */
export const createRegistration = (controller: string): Registration => {
  const kindById = new Map<string, string>()

  const fail = (problem: string): never => {
    throw new RegistrationError(controller, problem)
  }
  if (!NAME.test(controller)) {
    fail(
      `the name must be lower-case letters, digits and '-', 42 at most, such as 'pools': it becomes part of an annotation`,
    )
  }

  const duration = (where: string, value: Duration): number => {
    let milliseconds: number
    try {
      milliseconds = toMilliseconds(value)
    } catch (error) {
      return fail(`${where}: ${error instanceof Error ? error.message : String(error)}`)
    }
    if (!(milliseconds >= 0))
      fail(`${where}: ${value} is no duration: write milliseconds from 0 on, or a text such as '30s'`)
    return milliseconds
  }

  const count = (where: string, value: number) => {
    if (!Number.isInteger(value) || value < 1) fail(`${where}: ${value} must be a whole number from 1 on`)
  }

  return {
    fail,
    duration,
    count,
    reserveId(what, id) {
      if (!ID.test(id))
        fail(`${what} id ${JSON.stringify(id)}: write letters, digits, '-', '_', '.' or '/', 63 at most`)
      const other = kindById.get(id)
      if (other !== undefined)
        fail(`${what} id "${id}" is taken by ${other}: give each handler its own id, progress is kept under it`)
      kindById.set(id, what)
    },
    limits(id, { retries, timeout, backoff }) {
      if (retries !== undefined) count(`"${id}" retries`, retries)
      if (timeout !== undefined) duration(`"${id}" timeout`, timeout)
      if (typeof backoff === 'object') {
        duration(`"${id}" backoff.initial`, backoff.initial)
        duration(`"${id}" backoff.max`, backoff.max)
        if (!(backoff.factor >= 1)) fail(`"${id}" backoff.factor: ${backoff.factor} must be 1 or more`)
      } else if (backoff !== undefined) duration(`"${id}" backoff`, backoff)
    },
  }
}
