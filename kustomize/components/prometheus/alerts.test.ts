/** An alert on a metric that is not served never fires: names and labels are held to what is registered, and promtool makes each fire. */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dump, load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { findPromtool, promtoolMissing } from '#hack/prometheus/missing.ts'
import { served, unserved } from './served.ts'

interface Rules {
  readonly spec: {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
  }
}

const here = import.meta.dirname
const known = served()

describe.each(globSync('*-alerts.yaml', { cwd: here }))('%s', (file) => {
  const { spec } = load(readFileSync(join(here, file), 'utf8')) as Rules
  const alerts = spec.groups.flatMap(({ rules }) => rules).map(({ alert, expr }) => [alert, expr] as const)
  const part = file.replace('-alerts.yaml', '')

  test.for(alerts)('%s asks for what is served', ([, expr]) => {
    expect(unserved(expr, known)).toEqual([])
  })

  test.skipIf(promtoolMissing() !== undefined)('promtool makes each fire, and none without a reason', async () => {
    const folder = await temporaryFolder('promtool')
    const cases = readFileSync(join(here, `${part}-alerts.test.yaml`), 'utf8')
    writeFileSync(join(folder, `${part}-rules.yaml`), dump(spec))
    writeFileSync(join(folder, 'cases.yaml'), cases)
    const said = execFileSync(findPromtool() ?? '', ['test', 'rules', 'cases.yaml'], { cwd: folder, encoding: 'utf8' })
    expect(said).toContain('SUCCESS')
    expect(alerts.filter(([alert]) => !cases.includes(`alertname="${alert}"`))).toEqual([])
  })
})

test('a name that is not served, and a label that its series lack, are found', () => {
  expect(unserved('sum by (shard) (hyperfleet_api_requests_total{path="/"}) > muster_nothing', known)).toEqual([
    'hyperfleet_api_requests_total has no label shard',
    'muster_nothing is not served',
  ])
  expect(unserved('up == 0', known)).toEqual(['up == 0 names no metric of Muster'])
})
