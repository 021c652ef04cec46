/** What expressions do to a manager: one that would never end holds up no other, and an error of one is never taken for false. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { type AdapterWorld, adapterWorld } from './world.ts'

let world: AdapterWorld

beforeAll(async () => {
  world = await adapterWorld()
  await world.manager()
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

/** A task of one ConfigMap for clusters of its own, with a param and a condition of that ConfigMap. */
const declare = async (name: string, expression: string, when = 'true', value = '{{ .value }}'): Promise<void> => {
  const spec: Partial<AdapterTaskSpec> = {
    selector: { matchLabels: { only: name } },
    params: [
      { name: 'clusterId', source: 'event.id', required: true },
      { name: 'value', source: { expression } },
    ],
    resources: [
      {
        name: 'config',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: `${name}-{{ .clusterId }}`, namespace: world.namespace },
          data: { value },
        },
        discovery: { namespace: world.namespace, by_name: `${name}-{{ .clusterId }}` },
        lifecycle: { create: { when: { expression: when } } },
      },
    ],
  }
  await world.declare(name, spec)
  await world.until(name, 'Working')
}

const create = async (only: string, spec: object = {}): Promise<string> => (await world.create(only, spec, { only })).id

const configOf = (name: string, id: string) =>
  world.object(`/api/v1/namespaces/${world.namespace}/configmaps/${name}-${id}`)

test('attack: the author of a task writes an expression that would never end, a pattern that would hang, and a template that grows: each is stopped by its limit and says so, and another task works meanwhile', async () => {
  const all = 'lists.range(10000)'
  await declare('hostile', `${all}.all(a, ${all}.all(b, ${all}.all(c, a + b + c >= 0))) ? "never" : "never"`)
  await declare('pattern', `resource.spec.text.matches("((a|b?){20}){20}c") ? "yes" : "no"`)
  const grows = `${'{{ range .resource.spec.list }}'.repeat(5)}grows${'{{ end }}'.repeat(5)}`
  await declare('template', 'resource.name', 'true', grows)
  await declare('honest', 'resource.name')
  const hostile = await create('hostile')
  const pattern = await create('pattern', { text: 'ab'.repeat(2_000) })
  const template = await create('template', { list: Array.from({ length: 1_000 }, (_, at) => at) })
  for (let round = 0; round < 5; round++) for (const id of [hostile, template]) await world.pulse(id)
  await world.pulse(pattern)
  const honest = await create('honest')
  await world.pulsedUntil(honest, async () => expect((await world.cluster(honest))?.status.phase).toBe('Ready'))
  await world.pulsedUntil(hostile, async () =>
    expect(await world.reported(hostile, 'hostile')).toContain('Health False ExpressionFailed'),
  )
  // Linear in the text, whatever the pattern: it has its answer, or was stopped, and never hangs.
  await world.pulsedUntil(pattern, async () => expect(await world.reported(pattern, 'pattern')).not.toEqual([]))
  await world.pulsedUntil(template, async () =>
    expect(await world.reported(template, 'template')).toContain('Health False TemplateFailed'),
  )
  for (const [name, id] of [
    ['hostile', hostile],
    ['template', template],
  ] as const)
    expect(await configOf(name, id)).toBeUndefined()
  expect((await world.task('hostile')).status?.lastError).toContain('steps')
})

test('matches in linear time: a pattern that would take a backtracking engine for ever has its answer', async () => {
  await declare('linear', `resource.spec.text.matches("^(a+)+$") ? "yes" : "no"`)
  const id = await create('linear', { text: `${'a'.repeat(5_000)}!` })
  await world.pulsedUntil(id, async () => expect(await configOf('linear', id)).toMatchObject({ data: { value: 'no' } }))
})

// ADAPTER-72
test.each([
  ['match', '(a+)+b'],
  ['search', '(a|aa)+$'],
  ['search', '^(a*)*b'],
  ['match', '((a|b?){20}){20}c'],
])(
  'attack: the author of a task has JSONPath compare texts with a pattern that would hang, in a value, a precondition and the report: the run ends, and another task works meanwhile: %s',
  async (call, pattern) => {
    const name = `path-${crypto.randomUUID().slice(0, 8)}`
    const field = (from: string) => `{${from}[?${call}(@, "${pattern}")]}`
    const discovery = { namespace: world.namespace, by_name: `${name}-{{ .clusterId }}` }
    const metadata = { name: `${name}-{{ .clusterId }}`, namespace: world.namespace }
    await world.declare(name, {
      selector: { matchLabels: { only: name } },
      params: [{ name: 'clusterId', source: 'event.id', required: true }],
      preconditions: [
        {
          name: 'cluster',
          api_call: { url: '/clusters/{{ .clusterId }}' },
          capture: [{ name: 'found', field: field('.spec.texts'), default: 'none' }],
          conditions: [{ field: field('.cluster.spec.texts'), operator: 'notExists' }],
        },
      ],
      resources: [
        {
          name: 'config',
          manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value: '{{ .found }}' } },
          discovery,
        },
      ],
      post: {
        payloads: [{ name: 'report', build: { found: { field: field('.cluster.spec.texts'), default: 'none' } } }],
      },
    } as Partial<AdapterTaskSpec>)
    await world.until(name, 'Working')
    const neighbour = `beside-${name}`
    await declare(neighbour, 'resource.name')
    const id = await create(name, { texts: Array.from({ length: 20 }, () => `${'a'.repeat(5_000)}!`) })
    for (let round = 0; round < 5; round++) await world.pulse(id)
    const honest = await create(neighbour)
    await world.pulsedUntil(honest, async () => expect((await world.cluster(honest))?.status.phase).toBe('Ready'))
    await world.pulsedUntil(id, async () => expect(await configOf(name, id)).toMatchObject({ data: { value: 'none' } }))
  },
)

test('ADAPTER-4: null is absent for has(), .? and hasValue(); an expression without a value fails and applies nothing', async () => {
  const isThere = 'has(resource.spec.zone) || resource.spec.?zone.hasValue() || resources.?nobody.hasValue()'
  await declare('absent', 'has(resource.spec.zone) ? "there" : "absent"', `!(${isThere})`)
  await declare('valueless', '"x"', 'resource.spec.zone.name == "never"')
  const absent = await create('absent', { zone: null })
  await world.pulsedUntil(absent, async () =>
    expect(await configOf('absent', absent)).toMatchObject({ data: { value: 'absent' } }),
  )
  const valueless = await create('valueless', { zone: null })
  await world.pulsedUntil(valueless, async () =>
    expect(await world.reported(valueless, 'valueless')).toContain('Health False ExpressionFailed'),
  )
  expect(await configOf('valueless', valueless)).toBeUndefined()
})
