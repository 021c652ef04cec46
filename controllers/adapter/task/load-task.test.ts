import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { taskLanguages } from '../language/task-languages.ts'
import { type LoadOptions, loadTask, parseTaskFile } from './load-task.ts'
import type { Task } from './task.ts'
import { InvalidTaskError } from './task-problems.ts'

const languages = taskLanguages(() => new Date(0))
const adapter = { name: 'cl-namespace' }

const load = (value: unknown, options: Partial<LoadOptions> = {}): Task =>
  loadTask(value, { languages, adapter, ...options })

const file = (name: string): unknown =>
  parseTaskFile(readFileSync(new URL(`../testdata/${name}`, import.meta.url), 'utf8'))

const CONFIG = {
  name: 'config',
  manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'n' } },
  discovery: { by_name: 'c', namespace: 'n' },
}

/** Everything that is wrong, one line each. */
const problems = (value: unknown, options: Partial<LoadOptions> = {}): string => {
  try {
    load(value, options)
  } catch (error) {
    if (!(error instanceof InvalidTaskError)) throw error
    return error.problems.map(({ path, message }) => `${path}: ${message}`).join('\n')
  }
  throw new Error('it was accepted')
}

describe('task files load unchanged', () => {
  test('ADAPTER-58: one of the Go adapter: captures, lifecycle, reports of its own', () => {
    const task = load(file('go-adapter-lifecycle.yaml'))
    expect(task.params.map(({ name, source: { kind }, required }) => [name, kind, required])).toEqual([
      ['clusterId', 'path', true],
      ['generation', 'path', false],
      ['region', 'env', false],
    ])
    expect(
      task.resources.map(({ name, policy, createWhen, deleteWhen }) => [
        name,
        policy,
        createWhen?.text,
        deleteWhen?.text,
      ]),
    ).toEqual([
      ['clusterNamespace', 'Background', '!is_deleting', 'is_deleting && !resources.?clusterConfig.hasValue()'],
      ['clusterConfig', 'Background', undefined, 'is_deleting'],
    ])
    expect(task.postActions.map(({ name, payloads }) => [name, payloads])).toEqual([
      ['reportClusterStatus', ['clusterReport']],
    ])
  })

  test('ADAPTER-58: one of the Go adapter: a ManifestWork with objects inside', () => {
    const [work] = load(file('go-adapter-manifestwork.yaml')).resources
    expect(work?.transport.kind).toBe('maestro')
    expect(work?.nested.map(({ name }) => name)).toEqual(['innerNamespace', 'innerSettings'])
  })

  test('one with when_deleting and delete_options', () => {
    const task = loadTask(file('deletion-order.yaml'), { languages })
    expect(task.adapter).toEqual({ name: 'ordered', version: '1.0.0' })
    expect(task.whenDeleting?.text).toBe('deletedAt != ""')
    expect(task.resources.map(({ name, policy, after }) => [name, policy, after])).toEqual([
      ['namespace', 'Foreground', ['config', 'job']],
      ['config', 'Background', undefined],
      ['job', 'Background', undefined],
    ])
  })

  test('manifests and payloads from files beside it', () => {
    const task = load(
      {
        params: [{ name: 'clusterId', source: 'event.id' }],
        resources: [{ ...CONFIG, manifest: { ref: 'config.yaml' } }],
        post: { payloads: [{ name: 'report', build_ref: 'report.yaml' }] },
      },
      {
        files: (name) =>
          ({ 'config.yaml': 'kind: ConfigMap\nname: "{{ .clusterId }}"\n', 'report.yaml': 'id: "{{ .clusterId }}"\n' })[
            name
          ],
      },
    )
    expect(task.resources[0]?.manifest.build({ clusterId: 'x' })).toEqual({ kind: 'ConfigMap', name: 'x' })
    expect(task.payloads[0]?.build.build({ clusterId: 'x' })).toEqual({ id: 'x' })
  })
})

describe('ADAPTER-57: everything that is wrong is reported at once, with its place and what to write', () => {
  test('a file that is no YAML', () => {
    expect(() => parseTaskFile('params: [')).toThrow(/^the task is no YAML: /)
  })

  test('no object at all, and no adapter that runs it', () => {
    expect(problems('params')).toBe(': is "params": write an object')
    expect(problems({}, { adapter: undefined })).toBe(
      'adapter: is missing: write adapter: {name: …}, under which it reports',
    )
  })

  test('unknown keys, with the near one', () => {
    expect(
      problems({
        precondition: [],
        params: [{ name: 'a', sources: 'event.id' }],
        resources: [{ ...CONFIG, delete_options: { propagationPolicy: 'Orphan' }, recreateOnChange: true }],
      }),
    ).toMatchInlineSnapshot(`
      "precondition: is not known here, did you mean preconditions?: write one of adapter, params, preconditions, when_deleting, resources, post
      params[0].sources: is not known here, did you mean source?: write one of name, source, type, default, required, description
      params[0].source: is missing: it is required here
      resources[0].delete_options.propagationPolicy: is not known here, did you mean propagation_policy?: write one of propagation_policy, after
      resources[0].recreateOnChange: is not known here, did you mean recreate_on_change?: write one of name, transport, manifest, discovery, nested_discoveries, recreate_on_change, adopt, lifecycle, delete_options"
    `)
  })

  test('values of the wrong kind', () => {
    expect(
      problems({
        params: { name: 'a' },
        preconditions: [{ name: 'p', api_call: { url: 7, method: 'get', retry_attempts: 99 } }],
        resources: [{ ...CONFIG, manifest: 5, delete_options: { after: 'config' }, recreate_on_change: 'yes' }],
        post: { payloads: [null] },
      }),
    ).toMatchInlineSnapshot(`
      "params: is an object: write a list
      preconditions[0].api_call.url: is 7: write a text
      preconditions[0].api_call.method: is "get", did you mean GET?: write one of GET, POST, PUT, PATCH, DELETE
      preconditions[0].api_call.retry_attempts: is 99: write 20 or less
      resources[0].manifest: is 5: write a text or an object
      resources[0].delete_options.after: is "config": write a list
      resources[0].recreate_on_change: is "yes": write true or false
      post.payloads[0]: is empty: write an object"
    `)
  })

  test('names that are there twice, or taken', () => {
    expect(
      problems({
        params: [
          { name: 'a', source: 'event.id' },
          { name: 'a', source: 'event.id' },
          { name: 'resources', source: 'event.id' },
        ],
        resources: [CONFIG, CONFIG],
      }),
    ).toMatchInlineSnapshot(`
      "params[1].name: a is already the name of params[0]: write another one
      resources[1].name: config is already the name of resources[0]: write another one
      params[2].name: resources is a variable that every task has: write another one"
    `)
  })

  test('sources that lead nowhere', () => {
    expect(
      problems({
        params: [
          { name: 'a', source: 'evnet.id' },
          { name: 'b', source: 'env' },
          { name: 'c', source: 'event..id' },
          { name: 'd', source: { file: { path: 'token' } } },
          { name: 'e', source: 'env.HOME', required: true },
        ],
      }),
    ).toMatchInlineSnapshot(`
      "params[0].source: there is no evnet.id to take the value from: did you mean event.id?
      params[1].source: env names no variable: write env.NAME
      params[2].source: "event..id" has an empty part: write a path such as event.id
      params[3].source.file.path: token is not absolute: begin it with /
      params[4].source: the environment variable HOME is not set, or not among those that tasks may read"
    `)
  })

  test('expressions that don’t compile, or name what is not there', () => {
    expect(
      problems({
        params: [
          { name: 'early', source: { expression: 'late == 1' } },
          { name: 'late', source: 'event.generation' },
          { name: 'typo', source: { expression: 'laet + 1' } },
          { name: 'open', source: { expression: '(1' } },
        ],
        preconditions: [{ name: 'text', expression: "'no'" }],
        when_deleting: 'resources.?config.hasValue()',
      }),
    ).toMatchInlineSnapshot(`
      "params[0].source.expression: late is not known here yet: it comes later in the task
      params[2].source.expression: there is no variable laet: did you mean late? at line 1, column 1: laet + 1
      params[3].source.expression: Expected RPAREN, got EOF at line 1, column 3: (1
      preconditions[0].expression: the expression gives string, but bool is needed here
      when_deleting: resources is not known here yet: it comes later in the task"
    `)
  })

  test.each(['double', 'type', 'lists', 'if', 'event'])(
    'a name that expressions have another meaning for: %s',
    (name) => {
      const said = `${name} is ${name === 'event' ? 'a variable that every task has' : 'a word of CEL'}: write another one`
      expect(problems({ params: [{ name, source: 'event.id' }] })).toBe(`params[0].name: ${said}`)
      const capture = [{ name, expression: 'status.conditions.filter(c, c.type == "Ready").map(c, type(c))' }]
      const precondition = {
        name: 'p',
        api_call: { url: '/x' },
        capture,
        conditions: [{ field: 'p', operator: 'exists' }],
      }
      expect(problems({ preconditions: [precondition] })).toBe(`preconditions[0].capture[0].name: ${said}`)
    },
  )

  test('templates that name what is not there', () => {
    expect(
      problems({
        params: [{ name: 'clusterId', source: 'event.id' }],
        resources: [{ ...CONFIG, manifest: { metadata: { name: '{{ .clusterID }}' } } }],
      }),
    ).toMatchInlineSnapshot(
      `"resources[0].manifest.metadata.name: there is no variable clusterID: did you mean clusterId?"`,
    )
  })

  test('conditions that compare with nothing, or with something where they must not', () => {
    expect(
      problems({
        preconditions: [
          {
            name: 'p',
            conditions: [
              { field: 'event.id', operator: 'exists', value: '' },
              { field: 'event.id', operator: 'equals' },
              { field: 'event.id', operator: 'in', value: 'x' },
              { field: 'evnt.id', operator: 'exists' },
            ],
          },
          { name: 'q', expression: 'true', capture: [{ name: 'n', field: 'a[', expression: 'a' }] },
        ],
      }),
    ).toMatchInlineSnapshot(`
      "preconditions[0].conditions[0].value: exists compares with nothing: leave value out
      preconditions[0].conditions[1].value: equals needs something to compare with
      preconditions[0].conditions[2].values: in compares with a list: write values: [a, b]
      preconditions[0].conditions[3].field: there is no variable evnt: did you mean event?
      preconditions[1].capture: takes values out of an answer: write api_call too, or use params with an expression
      preconditions[1].capture[0]: must have either field or expression"
    `)
  })

  test('ADAPTER-36: orders of deletion that can’t be', () => {
    const named = (name: string, ...after: string[]) => ({ ...CONFIG, name, delete_options: { after } })
    expect(problems({ resources: [named('a', 'b'), named('b', 'a')] })).toMatchInlineSnapshot(
      `"resources[0].delete_options.after: a waits for b waits for a: none of them would ever be deleted; take one name out of an after"`,
    )
    expect(problems({ resources: [named('a'), named('b', 'c')] })).toMatchInlineSnapshot(
      `"resources[1].delete_options.after: b is to be deleted after c, which is no resource of the task: write one of a, b"`,
    )
  })

  test('with nothing wrong but the order the task is there: what lives can be looked after', () => {
    const named = (name: string, ...after: string[]) => ({ ...CONFIG, name, delete_options: { after } })
    const taskOf = (value: unknown): Task | undefined => {
      try {
        return load(value)
      } catch (error) {
        return error instanceof InvalidTaskError ? error.task : undefined
      }
    }
    const resources = [named('a', 'b'), named('b', 'a')]
    expect(taskOf({ resources })?.resources).toHaveLength(2)
    expect(taskOf({ resources, when_deleting: 'nope' })).toBeUndefined()
  })

  test('a child before its parent', () => {
    const child = { ...CONFIG, manifest: { kind: 'ConfigMap', metadata: { name: 'c', namespace: '{{ .event.id }}' } } }
    const parent = {
      name: 'ns',
      manifest: 'kind: Namespace\nmetadata:\n  name: "{{ .event.id }}"\n',
      discovery: { by_name: '{{ .event.id }}' },
    }
    expect(problems({ resources: [child, parent] })).toMatchInlineSnapshot(
      `"resources[0]: config is in the namespace that ns makes: list ns before it"`,
    )
    expect(load({ resources: [parent, child] }).resources).toHaveLength(2)
  })

  test('a resource that could not be found again, or reached', () => {
    expect(
      problems({
        resources: [
          { ...CONFIG, discovery: undefined },
          { ...CONFIG, name: 'b', discovery: { namespace: 'x' } },
          { ...CONFIG, name: 'c', transport: { client: 'maestro' } },
          { ...CONFIG, name: 'd', discovery: undefined, transport: { client: 'http' } },
          { ...CONFIG, name: 'e', manifest: { ref: 'nowhere.yaml' } },
          { ...CONFIG, name: 'f', discovery: { by_selectors: { label_selector: {} } } },
        ],
      }),
    ).toMatchInlineSnapshot(`
      "resources[0].discovery: is missing: write by_name or by_selectors, by which the resource is found again
      resources[1].discovery: must have either by_name or by_selectors
      resources[2].transport.maestro: is missing: write {target_cluster: …}
      resources[3].transport.http: is missing: write {url: …}
      resources[4].manifest.ref: there is no file nowhere.yaml beside the task
      resources[5].discovery.by_selectors.label_selector: has no label, so it would find all there are: write at least one"
    `)
  })

  test('ADAPTER-54: a call of the API with a header by which another site would get it and its token, or two readers two requests', () => {
    const headers = ['Host', 'transfer-encoding', 'Content-Length', 'X-Other'].map((name) => ({ name, value: '1' }))
    expect(
      problems({ preconditions: [{ name: 'p', api_call: { method: 'POST', url: '/x', headers } }] }),
    ).toMatchInlineSnapshot(`
        "preconditions[0].api_call.headers[0].name: Host is written by the sender: leave it out
        preconditions[0].api_call.headers[1].name: transfer-encoding is written by the sender: leave it out
        preconditions[0].api_call.headers[2].name: Content-Length is written by the sender: leave it out"
      `)
  })

  test('a resource of an HTTP service with what only Kubernetes knows, or with a header of the sender', () => {
    const http = { url: 'https://inventory.example.com/x', headers: [{ name: 'Host', value: 'other' }] }
    expect(
      problems({
        resources: [
          {
            ...CONFIG,
            transport: { client: 'http', http },
            recreate_on_change: true,
            delete_options: { propagation_policy: 'Orphan' },
          },
        ],
      }),
    ).toMatchInlineSnapshot(`
      "resources[0].transport.http.headers[0].name: Host is written by the sender: leave it out
      resources[0].discovery: is for Kubernetes, and here the url says where it is: leave it out
      resources[0].recreate_on_change: goes by the generation on an object, which an HTTP service does not keep: leave it out
      resources[0].delete_options.propagation_policy: says what Kubernetes does with dependants, and an HTTP service knows no such thing: leave it out"
    `)
  })
})
