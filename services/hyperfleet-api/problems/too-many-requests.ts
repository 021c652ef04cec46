import { Problem } from './problem.ts'

/** @param reason what the caller does too much of @param seconds after which it may try again */
export const tooManyRequests = (reason: string, seconds: number): Problem =>
  new Problem('tooManyRequests', `${reason}: wait ${seconds} s`, [], { 'Retry-After': String(seconds) })
