import type { Logger } from '#operator/model/log.ts'
import { PROBLEMS } from '../problems/catalogue.ts'
import type { Problem } from '../problems/problem.ts'
import type { Caller } from './guard.ts'
import type { Operation } from './operation.ts'

/** One request that was answered. */
export interface Audited {
  readonly operation: Operation
  readonly parameters: Readonly<Record<string, unknown>>
  /** Undefined when it was not known who asks. */
  readonly caller: Caller | undefined
  readonly status: number
  /** What it was refused or failed with. */
  readonly problem: Problem | undefined
  readonly requestId: string
  readonly remoteAddress: string
}

const REFUSALS: readonly number[] = [401, 403, 429]

/**
 * Writes who did what to which resource, and how it ended: what people change as `info`, what adapters and Sentinels
 * report by the thousand as `debug`, and whoever was refused as `warn`. Never a token, a label or a spec.
 */
export const audit = (
  { operation, parameters, caller, status, problem, requestId, remoteAddress }: Audited,
  log: Logger,
): void => {
  const isRefused = REFUSALS.includes(status)
  if (operation.method === 'GET' && !isRefused) return
  const fields = {
    who: caller?.identity,
    remoteAddress,
    operation: operation.id,
    ...parameters,
    ...(caller?.tenancy !== undefined && { tenancy: caller.tenancy }),
    status,
    ...(problem !== undefined && { code: PROBLEMS[problem.problem].code }),
    requestId,
  }
  if (isRefused) log.warn('audit: refused', fields)
  else if (operation.role === 'adapter') log.debug('audit', fields)
  else log.info('audit', fields)
}
