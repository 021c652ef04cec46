/** A panel on a metric that is not served is empty for ever, and one that PromQL can't read shows an error: neither is shipped. */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dump, load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { findPromtool, promtoolMissing } from '#hack/prometheus/missing.ts'
import { served, unserved } from '../prometheus/served.ts'

interface Dashboard {
  readonly uid: string
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] }
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

const here = import.meta.dirname
const known = served()
const files = globSync('*.json', { cwd: here })
const read = (file: string) => JSON.parse(readFileSync(join(here, file), 'utf8')) as Dashboard

describe.each(files)('%s', (file) => {
  const { panels, templating } = read(file)
  const expressions = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const))

  test.for(expressions)('%s asks for what is served', ([, expr]) => {
    expect(unserved(expr, known)).toEqual([])
  })

  test('what can be chosen is served, and each panel that uses a choice has it', () => {
    const choices = templating.list.filter(({ query }) => query.startsWith('label_values('))
    for (const { query } of choices) {
      const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? []
      expect(known.get(metric)).toContain(label)
    }
    const used = expressions.flatMap(([, expr]) => [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name))
    expect(new Set(used)).toEqual(new Set(choices.map(({ name }) => name)))
  })

  test.skipIf(promtoolMissing() !== undefined)('promtool reads every expression', async () => {
    const rules = expressions.map(([, expr], index) => ({
      record: `panel:${index}`,
      expr: expr.replaceAll(/\$\w+/g, '.*'),
    }))
    const path = join(await temporaryFolder('promtool'), 'panels.yaml')
    writeFileSync(path, dump({ groups: [{ name: 'panels', rules }] }))
    expect(execFileSync(findPromtool() ?? '', ['check', 'rules', path], { encoding: 'utf8' })).toContain('SUCCESS')
  })
})

test('every dashboard is delivered, under an id of its own', () => {
  const { configMapGenerator } = load(readFileSync(join(here, 'kustomization.yaml'), 'utf8')) as {
    configMapGenerator: readonly { files: readonly string[] }[]
  }
  expect(configMapGenerator.flatMap((one) => one.files).toSorted()).toEqual(files.toSorted())
  expect(new Set(files.map((file) => read(file).uid)).size).toBe(files.length)
})
