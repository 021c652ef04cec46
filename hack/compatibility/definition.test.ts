import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeBreak } from './break.ts'
import { breaks, type Definition } from './definition.ts'
import { definitionsIn } from './released.ts'
import type { Schema } from './schema.ts'

type Draft<T> = T extends object ? { -readonly [K in keyof T]: Draft<T[K]> } : T
type Version = Draft<Definition>['spec']['versions'][number]

const spec: Schema = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer', minimum: 1, maximum: 9 },
    mode: { type: 'string', enum: ['On', 'Off'], default: 'On' },
    name: { type: 'string', maxLength: 9, pattern: '^[a-z]+$' },
    labels: { type: 'object', additionalProperties: { type: 'string', minLength: 1 } },
    hosts: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    anything: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    share: { type: 'number', nullable: true },
  },
}

const widget = (): Definition => ({
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', shortNames: ['w'], categories: ['all'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {}, scale: { specReplicasPath: '.spec.size' } },
        additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
        selectableFields: [{ jsonPath: '.spec.name' }],
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      },
    ],
  },
})

/** The breaks when one thing is changed. */
const broken = (change: (definition: Draft<Definition>) => void): string[] => {
  const changed = structuredClone(widget()) as Draft<Definition>
  change(changed)
  return breaks([widget()], [changed as Definition]).map(describeBreak)
}

const version = (change: (version: Version) => void) => broken(({ spec: { versions } }) => versions.forEach(change))

const fields = (change: (properties: Record<string, Draft<Schema>>, spec: Draft<Schema>) => void) =>
  version(({ schema }) => {
    const changed = schema.openAPIV3Schema.properties?.spec as Draft<Schema>
    change(changed.properties as Record<string, Draft<Schema>>, changed)
  })

describe('a break', () => {
  test.each<[string, string[]]>([
    ['a field that is gone', fields((of) => delete of.name)],
    ['another type', fields((of) => Object.assign(of, { size: { type: 'string' } }))],
    [
      'a new required field',
      fields((of, it) => Object.assign(of, { extra: { type: 'string' } }) && it.required?.push('extra')),
    ],
    ['a field that becomes required', fields((_, it) => it.required?.push('name'))],
    ['a value that is gone', fields((of) => Object.assign(of.mode ?? {}, { enum: ['On'] }))],
    ['a choice where all was free', fields((of) => Object.assign(of.name ?? {}, { enum: ['a'] }))],
    ['another pattern', fields((of) => Object.assign(of.name ?? {}, { pattern: '^[a-y]+$' }))],
    ['a new format', fields((of) => Object.assign(of.name ?? {}, { format: 'hostname' }))],
    ['a lower maximum', fields((of) => Object.assign(of.size ?? {}, { maximum: 8 }))],
    ['a higher minimum', fields((of) => Object.assign(of.size ?? {}, { minimum: 2 }))],
    ['a new bound', fields((of) => Object.assign(of.hosts ?? {}, { maxItems: 2 }))],
    ['another default', fields((of) => Object.assign(of.mode ?? {}, { default: 'Off' }))],
    [
      'a new rule',
      fields((of) => Object.assign(of.size ?? {}, { 'x-kubernetes-validations': [{ rule: 'self != 3' }] })),
    ],
    [
      'a list that merges otherwise',
      fields((of) => Object.assign(of.hosts ?? {}, { 'x-kubernetes-list-type': 'atomic' })),
    ],
    ['a narrower item', fields((of) => Object.assign(of.hosts ?? {}, { items: { type: 'string', maxLength: 1 } }))],
    [
      'a narrower value of a map',
      fields((of) => Object.assign(of.labels ?? {}, { additionalProperties: { type: 'string', minLength: 2 } })),
    ],
    ['unknown fields that are dropped', fields((of) => Object.assign(of, { anything: { type: 'object' } }))],
    ['null that is refused', fields((of) => Object.assign(of, { share: { type: 'number' } }))],
    ['a column that is gone', version((of) => Object.assign(of, { additionalPrinterColumns: [] }))],
    [
      'a column of something else',
      version((of) => Object.assign(of.additionalPrinterColumns?.[0] ?? {}, { jsonPath: '.spec.name' })),
    ],
    ['a subresource that is gone', version((of) => delete of.subresources?.scale)],
    ['a selectable field that is gone', version((of) => delete of.selectableFields)],
    ['a version that is gone', broken((of) => Object.assign(of.spec, { versions: [] }))],
    ['a version that is not served', version((of) => Object.assign(of, { served: false }))],
    ['another storage version', version((of) => Object.assign(of, { storage: false }))],
    ['another scope', broken((of) => Object.assign(of.spec, { scope: 'Cluster' }))],
    ['another name of the kind', broken((of) => Object.assign(of.spec.names, { kind: 'Gadget' }))],
    ['a short name that is gone', broken((of) => Object.assign(of.spec.names, { shortNames: [] }))],
    ['a category that is gone', broken((of) => Object.assign(of.spec.names, { categories: [] }))],
    ['a kind that is gone', breaks([widget()], []).map(describeBreak)],
  ])('is %s: it is said once, with what to do instead', (_, found) => {
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(/^widgets\.example\.com.*: .+; .+/)
  })

  test('is told where it is', () => {
    expect(
      fields((of) => Object.assign(of.labels ?? {}, { additionalProperties: { type: 'string', minLength: 2 } })),
    ).toMatchInlineSnapshot(`
      [
        "widgets.example.com v1: spec.labels.*: minLength was 1 and is 2: stored values may be refused; keep the wider bound, and look at the value in the controller",
      ]
    `)
    expect(fields((of) => delete of.name)).toMatchInlineSnapshot(`
      [
        "widgets.example.com v1: spec.name: it was removed: what is stored there is dropped at the next write; keep it, and say in its description that it is no longer used",
      ]
    `)
  })
})

describe('no break', () => {
  test.each<[string, string[]]>([
    ['nothing', broken(() => {})],
    ['a new optional field', fields((of) => Object.assign(of, { extra: { type: 'string' } }))],
    [
      'a new required field with a default',
      fields((of, it) => Object.assign(of, { extra: { type: 'string', default: '' } }) && it.required?.push('extra')),
    ],
    ['a required field that becomes optional', fields((_, it) => Object.assign(it, { required: [] }))],
    ['one more value', fields((of) => Object.assign(of.mode ?? {}, { enum: ['On', 'Off', 'Auto'] }))],
    [
      'no more pattern and bounds',
      fields((of) => Object.assign(of, { name: { type: 'string' }, size: { type: 'integer' } })),
    ],
    [
      'a text that may be a number',
      fields((of) => Object.assign(of, { size: { 'x-kubernetes-int-or-string': true, minimum: 1, maximum: 9 } })),
    ],
    [
      'a rule for what changes only',
      fields((of) =>
        Object.assign(of.size ?? {}, {
          'x-kubernetes-validations': [{ rule: 'oldSelf.hasValue() || self != 3', optionalOldSelf: true }],
        }),
      ),
    ],
    [
      'one more column, short name and version',
      broken((of) => {
        of.spec.names.shortNames?.push('wd')
        of.spec.versions.push({ ...structuredClone(of.spec.versions[0] as Version), name: 'v2', storage: false })
      }),
    ],
  ])('is %s', (_, found) => {
    expect(found).toEqual([])
  })
})

/** What can be done to a schema that clients rely on; undefined where it does not apply. */
const MUTATIONS: Readonly<Record<string, (schema: Draft<Schema>) => Draft<Schema> | undefined>> = {
  'remove a field': ({ properties, ...rest }) => {
    const [, ...others] = Object.entries(properties ?? {})
    return properties === undefined ||
      Object.keys(properties).length === 0 ||
      rest['x-kubernetes-preserve-unknown-fields']
      ? undefined
      : { ...rest, properties: Object.fromEntries(others), required: [] }
  },
  'require a new field': (schema) =>
    schema.properties && {
      ...schema,
      properties: { ...schema.properties, brandNew: { type: 'string' } },
      required: [...(schema.required ?? []), 'brandNew'],
    },
  'change the type': (schema) =>
    schema.type === undefined ? undefined : { type: schema.type === 'boolean' ? 'string' : 'boolean' },
  'narrow a text': (schema) =>
    schema.type === 'string' ? { ...schema, maxLength: Math.max(0, Number(schema.maxLength ?? 99) - 1) } : undefined,
  'raise a minimum': (schema) =>
    schema.type === 'integer' ? { ...schema, minimum: Number(schema.minimum ?? 0) + 1 } : undefined,
  'take a value out of a choice': (schema) => (schema.enum ? { ...schema, enum: schema.enum.slice(1) } : undefined),
  'add a rule': (schema) => ({
    ...schema,
    'x-kubernetes-validations': [...(schema['x-kubernetes-validations'] ?? []), { rule: 'self == self && 1 > 0' }],
  }),
}

/** Every schema below, each with what puts another in its place. */
function* places(schema: Draft<Schema>): Generator<{ at: Draft<Schema>; put: (other: Draft<Schema>) => void }> {
  const { properties = {}, items } = schema
  for (const [name, at] of Object.entries(properties) as [string, Draft<Schema>][]) {
    yield { at, put: (other) => Object.assign(properties, { [name]: other }) }
    yield* places(at)
  }
  if (items !== undefined) {
    yield { at: items as Draft<Schema>, put: (other) => Object.assign(schema, { items: other as never }) }
    yield* places(items as Draft<Schema>)
  }
  if (typeof schema.additionalProperties === 'object') yield* places(schema.additionalProperties as Draft<Schema>)
}

const ours = definitionsIn('manifests/crds')

test('whatever is broken anywhere in a definition of ours is found', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ours),
      fc.nat(),
      fc.constantFrom(...Object.keys(MUTATIONS)),
      (definition, nth, mutation) => {
        const changed = structuredClone(definition) as Draft<Definition>
        const root = changed.spec.versions[0]?.schema.openAPIV3Schema as Draft<Schema>
        const candidates = [...places(root)].flatMap(({ at, put }) => {
          const mutated = MUTATIONS[mutation]?.(at)
          return mutated === undefined ? [] : [{ put, mutated }]
        })
        const chosen = candidates[nth % Math.max(1, candidates.length)]
        fc.pre(chosen !== undefined)
        chosen?.put(chosen.mutated)
        expect(breaks([definition], [changed as Definition])).not.toEqual([])
      },
    ),
    { numRuns: 150 },
  )
})
