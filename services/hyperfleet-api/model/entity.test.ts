import { expect, test } from 'vitest'
import { builtinEntities, defineEntities, hrefOf } from './entity.ts'
import type { EntityConfig } from './entity-config.ts'

test('children know their parents, and hrefs begin with the owner’s', () => {
  const entities = defineEntities(builtinEntities)
  const pools = entities.byPlural('nodepools')
  expect(pools?.parent).toBe(entities.byKind('Cluster'))
  expect(entities.byKind('Cluster')?.children).toEqual([pools])
  expect(pools && hrefOf(pools, '2', { href: '/api/hyperfleet/v1/clusters/1' })).toBe(
    '/api/hyperfleet/v1/clusters/1/nodepools/2',
  )
})

const kind = (config: Partial<EntityConfig>): EntityConfig => ({ kind: 'Thing', plural: 'things', ...config })

test.each([
  [[kind({ kind: 'thing' })], 'entities: kind "thing" must be UpperCamelCase, such as Cluster'],
  [[kind({ plural: 'Things' })], 'entities: plural "Things" must be lower case, such as clusters'],
  [[kind({ plural: 'events' })], 'entities: plural events is a path of the API itself, choose another'],
  [[kind({}), kind({ plural: 'others' })], 'entities: kind Thing is there twice, remove one'],
  [[kind({}), kind({ kind: 'Other' })], 'entities: plural things is there twice, rename one'],
  [[kind({ parent_kind: 'Missing' })], 'entities: Thing has parent_kind Missing, which is no kind (valid: Thing)'],
  [[kind({ parent_kind: 'Thig' })], 'did you mean Thing?'],
  [
    [kind({ parent_kind: 'Thing' })],
    'entities: Thing → Thing is a circle, a kind can’t be its own ancestor'.replace('’', "'"),
  ],
  [[kind({ plural: 'statuses' })], 'entities: plural statuses is a path of the API itself, choose another'],
  [[kind({ on_parent_delete: 'restrict' })], 'entities: Thing has on_parent_delete but no parent_kind'],
  [[kind({ require_spec_schema: true })], 'entities: Thing has require_spec_schema but no spec_schema_name'],
  [[kind({ required_adapters: ['dns', 'dns'] })], 'entities: Thing requires the adapter dns twice, name it once'],
  [
    [kind({ required_adapters: ['a-b', 'A-b'] })],
    'Thing requires two adapters that both give the condition ABSuccessful',
  ],
  [[kind({ references: [{ ref_type: 'to', target_kind: 'Thin' }] })], 'did you mean Thing? (valid: Thing)'],
  [[kind({ references: [{ ref_type: 'a b', target_kind: 'Thing' }] })], 'must be letters, digits, _ and -'],
  [
    [kind({ references: [{ ref_type: 'to', target_kind: 'Thing', min: 2, max: 1 }] })],
    'entities: reference to of Thing needs 0 <= min <= max and 1 <= max',
  ],
  [[kind({ name_min_len: 5, name_max_len: 4 })], 'entities: Thing needs 1 <= name_min_len <= name_max_len <= 100'],
])('%# refuses what it can’t serve', (configs, message) => {
  expect(() => defineEntities(configs)).toThrow(message)
})

test('what a kind does not say has its default', () => {
  const entities = defineEntities([kind({})])
  expect(entities.byKind('Thing')).toMatchObject({
    onParentDelete: 'cascade',
    requiredAdapters: [],
    nameLength: { min: 1, max: 100 },
    specSchema: undefined,
    references: [],
  })
})

test('what a kind says stays', () => {
  const said = kind({
    parent_kind: 'Cluster',
    on_parent_delete: 'restrict',
    required_adapters: ['dns'],
    name_min_len: 3,
    name_max_len: 15,
    spec_schema_name: 'Thing',
    require_spec_schema: true,
  })
  expect(defineEntities([...builtinEntities, said]).byKind('Thing')).toMatchObject({
    onParentDelete: 'restrict',
    requiredAdapters: ['dns'],
    nameLength: { min: 3, max: 15 },
    specSchema: { name: 'Thing', isRequired: true },
  })
  const { require_spec_schema: _, ...mayLack } = said
  expect(defineEntities([...builtinEntities, mayLack]).byKind('Thing')?.specSchema).toEqual({
    name: 'Thing',
    isRequired: false,
  })
})
