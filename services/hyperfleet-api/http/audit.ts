import type { Logger } from '#operator/model/log.ts'
import type { Problem } from '../problems/problem.ts'
import { PROBLEMS } from '../problems/problem-types.ts'
import type { Caller } from './access-control.ts'
import type { Operation } from './operation.ts'

/** One request that was answered. */
export interface AuditEntry {
  readonly operation: Operation
  readonly parameters: Readonly<Record<string, unknown>>
  /** Undefined when the caller was not known. */
  readonly caller: Caller | undefined
  readonly status: number
  /** What it was refused or failed with. */
  readonly problem: Problem | undefined
  readonly requestId: string
  readonly remoteAddress: string
}

const REJECTED_STATUSES: readonly number[] = [401, 403, 429]

/**
 * Writes which caller did what to which resource, and how it ended: what people change as `info`, what adapters and Sentinels
 * report by the thousand as `debug`, and what was refused as `warn`. Never a token, a label or a spec.
 */
export const writeAuditLog = (
  { operation, parameters, caller, status, problem, requestId, remoteAddress }: AuditEntry,
  log: Logger,
): void => {
  const isRejected = REJECTED_STATUSES.includes(status)
  if (operation.method === 'GET' && !isRejected) return
  const fields = {
    who: caller?.identity,
    // A gateway's word for the caller never hides whose token it came with.
    ...(caller?.qualifiedSubject !== undefined &&
      caller.qualifiedSubject !== caller.identity && { subject: caller.qualifiedSubject }),
    remoteAddress,
    operation: operation.id,
    ...parameters,
    ...(caller?.tenancy !== undefined && { tenancy: caller.tenancy }),
    status,
    ...(problem !== undefined && { code: PROBLEMS[problem.problem].code }),
    requestId,
  }
  if (isRejected) log.warn('audit: refused', fields)
  else if (operation.role === 'adapter') log.debug('audit', fields)
  else log.info('audit', fields)
}
