import type { Check, Finding, Objects, Observed, Shipped } from './model.ts'

/** What a look at a cluster gave. */
export interface Report {
  readonly findings: readonly Finding[]
  /** Checks that were not made, with why: nothing is known of their lines. */
  readonly notChecked: readonly { readonly check: string; readonly why: string }[]
  /** How many checks were made. */
  readonly checked: number
}

/** Makes every check whose objects could be read. Pure. SECURITY-2. */
export const runChecks = (checks: readonly Check[], observed: Observed, shipped: Shipped): Report => {
  const reports = checks.map(({ id, reads, find }) => {
    const unread = reads.flatMap((kind) => {
      const seen = observed[kind]
      return 'unread' in seen ? [seen.unread] : []
    })
    if (unread.length > 0) return { findings: [], notChecked: [{ check: id, why: unread.join('; ') }] }
    const findings = find(observed as Objects, shipped).map((finding) => ({ check: id, ...finding }))
    return { findings, notChecked: [] }
  })
  const notChecked = reports.flatMap((each) => each.notChecked)
  return {
    findings: reports.flatMap((each) => each.findings),
    notChecked,
    checked: checks.length - notChecked.length,
  }
}

/** 0 nothing to report, 1 something was found, 3 nothing was, but not everything could be looked at. SECURITY-2. */
export const exitCodeOfReport = ({ findings, notChecked }: Report): 0 | 1 | 3 => {
  if (findings.length > 0) return 1
  return notChecked.length > 0 ? 3 : 0
}

/** For people: what was found, by line of the table, what was not looked at, and how much was. */
export const formatReport = ({ findings, notChecked, checked }: Report): string => {
  const byLine = Map.groupBy(findings, ({ line }) => `The ${line.role} must not: ${line.mustNot}`)
  const lines = [
    ...[...byLine].flatMap(([line, group]) => [
      line,
      ...group.map(({ check, where, what, todo }) => `    ${where} (${check}): ${what}. To do: ${todo}`),
    ]),
    ...notChecked.map(({ check, why }) => `Not checked: ${check}: ${why}`),
    `${checked} checks made, ${findings.length === 0 ? 'nothing' : findings.length} found, ${notChecked.length} not made`,
  ]
  return `${lines.join('\n')}\n`
}
