import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { isObject } from '#lib/json/is-object.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')

/** What `npm audit` has told. */
export interface AuditResult {
  /** A registry that gives no answer is no failure: it may have none to give, such as a mirror. */
  readonly state: 'clean' | 'holes' | 'unanswered'
  readonly says: string
}

/** npm 11: `npm audit --json`, which has `vulnerabilities` by package, or an error of the registry. */
export const readAudit = (output: string): AuditResult => {
  const unanswered = (why: string): AuditResult => ({
    state: 'unanswered',
    says: `the registry says nothing of known holes in dependencies: ${why}`,
  })
  let report: unknown
  try {
    report = JSON.parse(output)
  } catch {
    return unanswered('its answer is no JSON')
  }
  if (!isObject(report) || !isObject(report.vulnerabilities))
    return unanswered(
      isObject(report) && typeof report.message === 'string' ? report.message : 'it has no list of them',
    )
  const holes = Object.entries(report.vulnerabilities).map(([name, found]) =>
    isObject(found) && typeof found.severity === 'string' ? `${name} (${found.severity})` : name,
  )
  return holes.length === 0
    ? { state: 'clean', says: 'no dependency has a known hole' }
    : { state: 'holes', says: `dependencies with known holes: ${holes.toSorted().join(', ')}` }
}

/** Milliseconds after which a registry has given no answer. */
const PATIENCE_MS = 60_000

/** Asks the registry about the packages of the lockfile. It ends with another code than 0 for holes and for errors alike. */
export const auditDependencies = (): Promise<AuditResult> =>
  new Promise((resolve) => {
    const options = { cwd: REPOSITORY, timeout: PATIENCE_MS, maxBuffer: 64 * 1024 * 1024 }
    execFile('npm', ['audit', '--json'], options, (_error, stdout) => resolve(readAudit(stdout)))
  })
