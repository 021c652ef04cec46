/** An alert on a metric that nobody serves never fires: names and labels here are held to what the Sentinel registers. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createMetrics } from '#controllers/sentinel/metrics.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8')

interface Rules {
  readonly spec: {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
  }
}
interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

const alerts = (load(read('sentinel-alerts.yaml')) as Rules).spec.groups
  .flatMap(({ rules }) => rules)
  .map(({ alert, expr }) => [alert, expr] as const)
const panels = (JSON.parse(read('sentinel-dashboard.json')) as Dashboard).panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => [title, expr] as const),
)

/** The labels of each series name that the Sentinel serves. */
const served = (): ReadonlyMap<string, ReadonlySet<string>> => {
  const registry = new Registry()
  const series = new Map<string, ReadonlySet<string>>()
  for (const metric of Object.values(createMetrics(registry))) {
    const { name, labelNames } = metric as unknown as { name: string; labelNames: readonly string[] }
    series.set(name, new Set(labelNames))
    series.set(`${name}_bucket`, new Set([...labelNames, 'le']))
  }
  return series
}

test.for([...alerts, ...panels])('%s asks for what the Sentinel serves', ([, expr]) => {
  const names = expr.match(/hyperfleet_sentinel_\w+/g) ?? []
  expect(names).not.toEqual([])
  const known = served()
  for (const name of names) {
    expect([...known.keys()]).toContain(name)
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '))
    const matched = [...expr.matchAll(/(\w+)=~?"/g)].map(([, label]) => label)
    for (const label of [...grouped, ...matched]) expect([...(known.get(name) ?? [])]).toContain(label)
  }
})
