import { createApi } from '#operator/client/api.ts'
import { withApiServer } from '../with-api-server.ts'
import { allChecks } from './checks/index.ts'
import type { CheckOptions } from './command.ts'
import { observe } from './observe.ts'
import { readShipped } from './reference.ts'
import { exitCodeOfReport, formatReport, runChecks } from './report.ts'

/**
 * Looks at an install, and says which lines of the table in docs/security.md do not hold there. Reads only.
 * @throws LookFailure when the API server does not answer
 */
export const checkSecurity = async ({
  output,
  trustedSubjects,
  ...access
}: CheckOptions): Promise<{ readonly text: string; readonly exitCode: 0 | 1 | 3 }> => {
  const observed = await withApiServer(access, (transport) => observe(createApi(transport)))
  const report = runChecks(allChecks({ trustedSubjects }), observed, readShipped())
  const text = output === 'json' ? `${JSON.stringify(report, undefined, 2)}\n` : formatReport(report)
  return { text, exitCode: exitCodeOfReport(report) }
}
