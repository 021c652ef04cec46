import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { REPOSITORY, readPage } from './page.ts'

/** Holds docs/troubleshoot.md to what the controllers and the alert rules can say. */
const page = await readPage('docs/troubleshoot.md')

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8')

describe('docs/troubleshoot.md', () => {
  test('has a section for each alert, and for no other', () => {
    const rules = globSync('kustomize/**/*.yaml', { cwd: REPOSITORY }).filter((path) => !path.endsWith('.test.yaml'))
    const alerts = rules.flatMap((path) => [...read(path).matchAll(/^\s*- alert: (\w+)$/gm)].map(([, name]) => name))
    const sections = [...page.text.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
    expect(alerts.length).toBeGreaterThan(0)
    expect(new Set(sections)).toEqual(new Set(alerts))
  })

  test.each(filesWithConditions())('or a page that it links to has each reason of %s', (file) => {
    const words = [...read(file).matchAll(/'([A-Z][a-z]+[A-Za-z]*|API[A-Za-z]+)'/g)].map(([, word]) => word ?? '')
    const told = [page.path, ...linked()].map(read).join('\n')
    const missing = words.filter((word) => !NO_REASONS.has(word) && !told.includes(`\`${word}\``))
    expect([...new Set(missing)]).toEqual([])
  })
})

/** Where conditions are decided, and where the Sentinel and the clusters take the reasons of their failures from. */
function filesWithConditions(): readonly string[] {
  return globSync('controllers/**/*.ts', { cwd: REPOSITORY })
    .filter((path) => !/\.(test|world|builders)\.ts$/.test(path))
    .filter((path) =>
      /ConditionInput|KstatusInput|ConditionInput|KstatusInput|export type FailureReason/.test(read(path)),
    )
    .sort()
}

/** Names of conditions, statuses, steps and other things in the same files. */
const NO_REASONS = new Set(
  [
    'True False Unknown Ready Reconciling Stalled Applied Hibernating Installed Pending ClusterRunning Overlapping Unowned',
    'MultipleOwners Deployments Watch Failure TaskError Change Hibernate Mark Nothing Register Withdraw WriteStatus',
    'DeleteClaim GrantSubjects LetGo MarkCluster None Active Inactive Paused Waiting Silent',
  ].flatMap((words) => words.split(' ')),
)

const linked = (): readonly string[] =>
  [...new Set(page.links.map((href) => href.split('#')[0] ?? '').filter((file) => file.endsWith('.md')))].map((file) =>
    join('docs', file),
  )
