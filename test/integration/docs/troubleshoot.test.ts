import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { kubectl } from '../delivery/kustomize.ts'
import { type Page, REPOSITORY, readPage } from './page.ts'

/** Holds the pages below docs/troubleshoot to what the controllers and the alert rules can say. */
const index = await readPage('docs/troubleshoot.md')
const pages = await Promise.all(globSync('docs/troubleshoot/*.md', { cwd: REPOSITORY }).sort().map(readPage))

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8')

interface Rules {
  readonly kind: string
  readonly spec: { readonly groups: readonly { readonly rules: readonly Alert[] }[] }
}

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly annotations: Readonly<Record<string, string>>
}

/** As prod delivers them. */
const alerts = async (): Promise<readonly Alert[]> => {
  const { stdout } = await kubectl('kustomize', 'kustomize/overlays/prod')
  const rules = (loadAll(stdout) as Rules[]).filter(({ kind }) => kind === 'PrometheusRule')
  return rules.flatMap(({ spec }) => spec.groups.flatMap((group) => group.rules))
}

/** Each alert's part, from the repository's root: docs/troubleshoot/api.md#hyperfleetapidown. */
const sections = pages.flatMap(({ path, text }) =>
  [...text.matchAll(/^### (\w+)$/gm)].map(([, name = '']) => ({ name, place: `${path}#${name.toLowerCase()}` })),
)

describe('the pages of docs/troubleshoot', () => {
  test('have a part for each alert, to which its runbook_url leads, and for no other', async () => {
    const { data } = loadAll(read('kustomize/components/prometheus/runbooks.yaml'))[0] as { data: { address: string } }
    const root = `https://${data.address.replace(/docs\/troubleshoot$/, '')}`
    const runbooks = (await alerts()).map(({ alert, annotations }) => ({
      name: alert,
      place: annotations.runbook_url?.replace(root, ''),
    }))
    expect(runbooks.length).toBeGreaterThan(0)
    expect(byName(runbooks)).toEqual(byName(sections))
  })

  // GITOPS-48
  test('take what they look at from the labels of their alert, which the page to a person has', async () => {
    const parts = new Map(
      pages.flatMap(({ text }) =>
        text.split(/^(?=#{2,3} )/m).map((part) => [/^### (\w+)$/m.exec(part)?.[1] ?? '', part] as const),
      ),
    )
    const missing = (await alerts()).flatMap(({ alert, expr }) =>
      labelsOf(expr)
        .filter((label) => !new RegExp(`(\\$|\\$\\{|\x60)${label}\\b`).test(parts.get(alert) ?? ''))
        .map((label) => `${alert}: $${label}`),
    )
    expect(missing).toEqual([])
  })

  test('are listed in docs/troubleshoot.md, and each alert with its part', () => {
    const linked = new Set(index.links.map((href) => normalize(join('docs', href))))
    expect(pages.map(({ path }) => path).filter((path) => ![...linked].some((to) => to.startsWith(path)))).toEqual([])
    expect(sections.filter(({ place }) => !linked.has(place))).toEqual([])
  })

  test.each(filesWithConditions())('or pages that they link to have each reason of %s', (file) => {
    const words = [...read(file).matchAll(/'([A-Z][a-z]+[A-Za-z]*|API[A-Za-z]+)'/g)].map(([, word]) => word ?? '')
    const told = [...new Set([index, ...pages].flatMap((page) => [page.path, ...linkedPages(page)]))]
      .map(read)
      .join('\n')
    const missing = words.filter((word) => !NO_REASONS.has(word) && !told.includes(`\`${word}\``))
    expect([...new Set(missing)]).toEqual([])
  })
})

test('what a line of a log has of an object is what the page about managers looks for', () => {
  const managers = read('docs/troubleshoot/managers.md')
  expect(read('operator/engine/call-handler.ts')).toMatch(/log\.child\(\{ object: this\.#state\.key,/)
  expect(managers).toContain('the object as `NAMESPACE/NAME` in `object`')
  expect(managers).toContain(`grep '"NAMESPACE/NAME"'`)
})

/** The labels that an alert keeps of its series: its aggregation's. */
const labelsOf = (expr: string): readonly string[] => [
  ...new Set([...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/,\s*/))),
]

const byName = <T extends { readonly name: string }>(named: readonly T[]): readonly T[] =>
  [...named].sort((one, other) => one.name.localeCompare(other.name))

/** Where conditions are decided, and where the Sentinel and the clusters take the reasons of their failures from. */
function filesWithConditions(): readonly string[] {
  return globSync('controllers/**/*.ts', { cwd: REPOSITORY })
    .filter((path) => !/\.(test|world|builders)\.ts$/.test(path))
    .filter((path) => /ConditionInput|KstatusInput|export type FailureReason/.test(read(path)))
    .sort()
}

/** Names of conditions, statuses, steps and other things in the same files. */
const NO_REASONS = new Set(
  [
    'True False Unknown Ready Reconciling Stalled Applied Hibernating Installed Pending ClusterRunning Overlapping Unowned',
    'NotServed MultipleOwners Deployments Watch Failure TaskError Change Hibernate Mark Nothing Register Withdraw WriteStatus',
    'DeleteClaim GrantSubjects LetGo MarkCluster None Active Inactive Paused Waiting Silent NoKey NotAsked Wrong',
  ].flatMap((words) => words.split(' ')),
)

const linkedPages = ({ path, links }: Page): readonly string[] =>
  links
    .map((href) => href.split('#')[0] ?? '')
    .filter((file) => file.endsWith('.md') && !file.includes(':'))
    .map((file) => normalize(join(dirname(path), file)))
