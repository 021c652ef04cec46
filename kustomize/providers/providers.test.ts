import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { compileTemplate } from '#lib/template/index.ts'

interface Named {
  readonly name: string
}

interface Task {
  readonly kind: string
  readonly metadata: Named
  readonly spec: { readonly params: readonly Named[]; readonly resources: readonly Manifested[] }
}

interface Manifested extends Named {
  readonly manifest: unknown
}

const TASKS = globSync('**/*.yaml', { cwd: import.meta.dirname })
  .flatMap((path) => loadAll(readFileSync(join(import.meta.dirname, path), 'utf8')) as (Task | undefined)[])
  .filter((document): document is Task => document?.kind === 'AdapterTask')

/** Manifests that are YAML only once they are rendered: a value may then become more than a value. */
const TEXTS = TASKS.flatMap(({ metadata, spec }) =>
  spec.resources.flatMap(({ name, manifest }) =>
    typeof manifest === 'string' ? [{ title: `${metadata.name}, ${name}`, manifest, params: spec.params }] : [],
  ),
)

/** What a person that declares a cluster may write where a text is expected. */
const EVIL = ['x"\n  evil: "y', "x'\nevil: true", 'x\n- evil', 'x: {evil: [', '{{ .name }}', '\\" \u2028 \u0000 é']

/** Every text of a document, keys included. */
const textsOf = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => [...(Array.isArray(value) ? [] : [key]), ...textsOf(inner)])
      : []

test('there are such manifests', () =>
  expect(TEXTS.map(({ title }) => title).toSorted()).toEqual(['cluster-api, cluster', 'cluster-hosted, controlplane']))

/** Params that are no texts, as the expressions of the tasks give them. */
const OTHERS: Readonly<Record<string, (value: string) => unknown>> = {
  // A number is what the task itself says, of two.
  replicas: () => '1',
  controlPlaneReplicas: () => 3,
  workers: (value) => [{ name: value, replicas: 1 }],
  variables: (value) => [{ name: value, value: JSON.stringify({ text: value }) }],
}

/** What a manifest reads of objects that are there: a control plane whose pod is awaited for long. */
const FOUND = { controlplane: { metadata: { creationTimestamp: '' }, status: { replicas: 0 } } }

// CLUSTER-54
describe.for(TEXTS)('attack: of $title, a value becomes more than a value', ({ manifest, params }) => {
  const template = compileTemplate(manifest, { names: [...params.map(({ name }) => name), 'resources'] })
  const render = (value: string): unknown => {
    const scope = Object.fromEntries(params.map(({ name }) => [name, OTHERS[name]?.(value) ?? value]))
    return loadAll(template.render({ ...scope, resources: FOUND }))
  }
  test.for(EVIL)('%j', (evil) => {
    const texts = textsOf(render('plain'))
    expect(textsOf(render(evil))).toEqual(texts.map((text) => text.replaceAll('plain', () => evil)))
  })
})
